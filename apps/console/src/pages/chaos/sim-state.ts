import type { FaultState, JournalEntry, MachineAct, SimMachine } from '@lcm/client/sim-client'
import { toMs } from '@lcm/domain/instant'
import type { WorkerStatus } from '@lcm/domain/worker/worker'

/** The look of a worker that would be in that state. */
export const WORKER_STATUS_OF: Readonly<Record<SimMachine['state'], WorkerStatus>> = {
  pending: 'STARTING',
  running: 'RUNNING',
  stopping: 'STOPPING',
  stopped: 'STOPPED',
  'shutting-down': 'TERMINATING',
  terminated: 'TERMINATED',
}

/** What EC2 would let anybody do to it now. */
export function machineActions({ state }: SimMachine): MachineAct[] {
  if (state === 'running') return ['stop', 'reboot', 'terminate']
  if (state === 'stopped') return ['start', 'terminate']
  return state === 'pending' || state === 'stopping' ? ['terminate'] : []
}

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`

const RATES: readonly (readonly [string, string])[] = [
  ['server_error_rate', 'of calls answer 500 or 503'],
  ['lost_request_rate', 'of calls get lost before their effect'],
  ['lost_answer_rate', 'of answers get lost after the effect'],
  ['stale_read_rate', 'of reads show the past'],
  ['capacity_error_rate', 'of zones have no room'],
  ['pending_death_rate', 'of launches die in pending'],
  ['empty_answer_rate', 'of answers are empty'],
  ['truncated_answer_rate', 'of answers break off'],
]

/** How the cloud lies now, in sentences: only what it does at all. */
export const activeFaults = ({ plan }: FaultState): string[] =>
  RATES.flatMap(([name, words]) => {
    const rate = plan[name]
    return typeof rate === 'number' && rate > 0 ? [`${percent(rate)} ${words}`] : []
  })

export const isFailed = ({ status, fault }: JournalEntry): boolean => status >= 400 || fault !== null

/** What somebody did here, to be seen among what LCM made of it. */
export interface UserAction {
  readonly id: string
  readonly atMs: number
  readonly text: string
}

export type FeedItem<D> =
  | { readonly atMs: number; readonly deed: UserAction }
  | { readonly atMs: number; readonly decision: D }

/** Deeds and decisions together, the newest first. */
export function feedOf<D extends { readonly at: string }>(
  deeds: readonly UserAction[],
  decisions: readonly D[],
): FeedItem<D>[] {
  const done: FeedItem<D>[] = deeds.map(deed => ({ atMs: deed.atMs, deed }))
  const decided: FeedItem<D>[] = decisions.map(decision => ({ atMs: toMs(decision.at), decision }))
  return [...done, ...decided].toSorted((a, b) => b.atMs - a.atMs)
}
