import type { FaultState, JournalEntry, MachineAct, SimMachine } from '@lcm/client/sim-client'
import { toMs } from '@lcm/domain/instant'
import type { WorkerStatus } from '@lcm/domain/worker/worker'

/** Worker status with the same meaning as an EC2 state, for its badge. */
export const WORKER_STATUS_OF: Readonly<Record<SimMachine['state'], WorkerStatus>> = {
  pending: 'STARTING',
  running: 'RUNNING',
  stopping: 'STOPPING',
  stopped: 'STOPPED',
  'shutting-down': 'TERMINATING',
  terminated: 'TERMINATED',
}

/** Actions that EC2 allows in the current state. */
export function machineActions({ state }: SimMachine): MachineAct[] {
  if (state === 'running') return ['stop', 'reboot', 'terminate']
  if (state === 'stopped') return ['start', 'terminate']
  return state === 'pending' || state === 'stopping' ? ['terminate'] : []
}

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`

const RATES: readonly (readonly [string, string])[] = [
  ['server_error_rate', 'of calls return 500 or 503'],
  ['lost_request_rate', 'of calls are lost before they take effect'],
  ['lost_answer_rate', 'of responses are lost after the call took effect'],
  ['stale_read_rate', 'of reads are stale'],
  ['capacity_error_rate', 'of zones have no capacity'],
  ['pending_death_rate', 'of launches fail while pending'],
  ['empty_answer_rate', 'of responses are empty'],
  ['truncated_answer_rate', 'of responses are truncated'],
]

/** Active fault rates as text. */
export const activeFaults = ({ plan }: FaultState): string[] =>
  RATES.flatMap(([name, words]) => {
    const rate = plan[name]
    return typeof rate === 'number' && rate > 0 ? [`${percent(rate)} ${words}`] : []
  })

export const isFailed = ({ status, fault }: JournalEntry): boolean => status >= 400 || fault !== null

/** A fault that the user injected on this page, listed among LCM's decisions. */
export interface UserAction {
  readonly id: string
  readonly atMs: number
  readonly text: string
}

export type FeedItem<D> =
  | { readonly atMs: number; readonly userAction: UserAction }
  | { readonly atMs: number; readonly decision: D }

/** User actions and decisions together, newest first. */
export function feedOf<D extends { readonly at: string }>(
  userActions: readonly UserAction[],
  decisions: readonly D[],
): FeedItem<D>[] {
  const done: FeedItem<D>[] = userActions.map(userAction => ({ atMs: userAction.atMs, userAction }))
  const decided: FeedItem<D>[] = decisions.map(decision => ({ atMs: toMs(decision.at), decision }))
  return [...done, ...decided].toSorted((a, b) => b.atMs - a.atMs)
}
