import type { Client } from '@lcm/client/client'
import type { Worker } from '@lcm/domain/worker/worker'
import { type Requests, sendOrReject } from '../../../state/request-tracker.ts'
import { ACTION_TEXTS, type ActionOptions, type DirectAction, sendAction } from './worker-actions.ts'

export interface RequestOptions extends ActionOptions {
  readonly onRefused?: (refusal: unknown) => boolean
}

const targetOf = ({ id, name }: Worker) => ({ kind: 'worker', id, name }) as const

/** Requests an action. Resolves to whether the API accepted it. */
export const requestWorkerAction = (
  requests: Requests,
  worker: Worker,
  action: DirectAction,
  options: RequestOptions = {},
): Promise<boolean> =>
  requests.send(
    targetOf(worker),
    ACTION_TEXTS[action].verb,
    client => sendAction(client, worker, action, options),
    options.onRefused,
  )

/** Rejects when refused: the form shows the reason. */
export const submitWorkerForm = (
  requests: Requests,
  worker: Worker,
  verb: string,
  send: (client: Client) => Promise<{ readonly version: number }>,
): Promise<void> => sendOrReject(requests, targetOf(worker), verb, send)
