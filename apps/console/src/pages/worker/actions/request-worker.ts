import type { Client } from '@lcm/client/client'
import type { Worker } from '@lcm/domain/worker/worker'
import { type Asks, askOrReject } from '../../../state/requests.ts'
import { ACT_WORDS, type ActOptions, type PlainAct, sendAct } from './worker-actions.ts'

export interface AskOptions extends ActOptions {
  readonly isDealtWith?: (refusal: unknown) => boolean
}

const subjectOf = ({ id, name }: Worker) => ({ kind: 'worker', id, name }) as const

/** Asks a worker to do something. Answers whether that was taken. */
export const askWorker = (asks: Asks, worker: Worker, act: PlainAct, options: AskOptions = {}): Promise<boolean> =>
  asks.ask(subjectOf(worker), ACT_WORDS[act].verb, client => sendAct(client, worker, act, options), options.isDealtWith)

/** For forms, which say themselves why they were refused: rejects then. */
export const askByForm = (
  asks: Asks,
  worker: Worker,
  verb: string,
  send: (client: Client) => Promise<{ readonly version: number }>,
): Promise<void> => askOrReject(asks, subjectOf(worker), verb, send)
