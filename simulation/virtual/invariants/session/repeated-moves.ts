import { toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { isMove } from '@lcm/domain/session/session-health'
import type { Worker } from '@lcm/domain/worker/worker'
import { WORKER_LOST_MS } from '@lcm/domain/worker/worker-loss'
import { CLOCK_MS_MAX } from '../../world/controller-process.ts'

/** A session waits for a machine that may come back, so that it isn't moved back and forth with every restart. */
export function repeatedMoves({ id, state_history }: LabletSession, left: Worker | undefined): string[] {
  const last = state_history.at(-1)
  if (last === undefined || !isMove(last)) return []
  const isRequested = last.because.code === 'session_moved_by'
  const isGone = left === undefined || left.status === 'TERMINATED' || left.status === 'TERMINATING'
  const arrived = state_history.findLast(({ from, to }) => from === 'PENDING' && to === 'SCHEDULED')
  const stayedMs = toMs(last.at) - toMs(arrived?.at ?? last.at)
  const isRepeated = state_history.some(entry => entry !== last && entry.to === 'PENDING' && entry.from === 'RUNNING')
  if (isRequested || isGone || !isRepeated || stayedMs >= WORKER_LOST_MS - CLOCK_MS_MAX) return []
  return [`${id} is moved again after ${Math.round(stayedMs / 1000)} s`]
}
