import { type Client, isProblem } from '@lcm/client/client'
import { type Instant, toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { namesText } from '@lcm/domain/text/format-amounts'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Drain } from '@lcm/domain/worker/worker-field-schemas'
import type { Clock } from '@lcm/runtime/clock'
import { formatDuration } from '../terminal/duration.ts'
import { impossible, reached, underWay, type Verdict } from '../wait-for-goal.ts'
import type { Settling } from '../waitable-command.ts'
import { failureOf } from './worker-view.ts'
import { WORKER_SETTLING, waitedWorker } from './worker-wait-goal.ts'

type End = Drain['then']

/** Whether a drained worker has reached the end status of its drain. */
export function judgeDrain(worker: Worker, end: End): Verdict {
  const { status, desired_status, desired_by, drain } = worker
  if (status === end) return reached
  if (status === 'TERMINATED') return impossible(`is TERMINATED: ${failureOf(worker)}`)
  if (status === 'FAILED') return impossible(`has FAILED: ${failureOf(worker)}`)
  if (drain !== null)
    return drain.then === end
      ? underWay
      : impossible(`will not become ${end}: ${drain.by} changed the drain to end as ${drain.then}`)
  if (desired_status === end) return underWay
  return impossible(
    desired_status === 'RUNNING'
      ? 'is no longer drained: the drain was canceled'
      : `will not become ${end}: ${desired_by} changed its desired status to ${desired_status}`,
  )
}

const SESSIONS_NAMED = 3

/** Ends of timeslots by session id; incomplete if they were not read. */
export type SlotEnds = ReadonlyMap<string, Instant>
const NOT_READ: SlotEnds = new Map()

/** Reads the ends of timeslots if at most SESSIONS_NAMED sessions remain. */
export async function readSlotEnds(
  { drain, reservations }: Worker,
  client: Client,
  signal: AbortSignal,
): Promise<SlotEnds> {
  const ids = Object.keys(reservations)
  if (drain === null || ids.length > SESSIONS_NAMED) return NOT_READ
  const sessions = await Promise.all(ids.map(id => sessionUnlessHidden(client, id, signal)))
  return new Map(sessions.flatMap(session => (session === null ? [] : [[session.id, session.timeslot.end]])))
}

/** Null if the session was deleted or the caller may not see it. */
async function sessionUnlessHidden(client: Client, id: string, signal: AbortSignal): Promise<LabletSession | null> {
  try {
    return await client.call('getSession', { params: { id }, signal })
  } catch (error) {
    if (isProblem(error, 'not_found') || isProblem(error, 'forbidden')) return null
    throw error
  }
}

/** The sessions that a drain waits for, and its deadline. */
export function drainText(worker: Worker, drain: Drain, nowMs: number, ends = NOT_READ): string {
  const sessions = Object.keys(worker.reservations)
  if (sessions.length === 0) return 'no sessions are left'
  const named = namesText(sessions, SESSIONS_NAMED)
  const leftMs = toMs(drain.deadline) - nowMs
  const limit = leftMs > 0 ? `at most ${formatDuration(leftMs)}` : 'the deadline has passed'
  const count = sessions.length === 1 ? 'session' : `${sessions.length} sessions`
  return `waiting for ${count} ${named} to end, ${limit}${slotText(sessions, ends, nowMs)}`
}

/** Empty unless the ends of all timeslots are known. */
function slotText(sessions: readonly string[], ends: SlotEnds, nowMs: number): string {
  const known = sessions.flatMap(id => ends.get(id) ?? [])
  if (known.length < sessions.length) return ''
  const leftMs = Math.max(...known.map(toMs)) - nowMs
  const slot = sessions.length === 1 ? 'its timeslot' : 'the last timeslot'
  return leftMs > 0 ? `; ${slot} ends in ${formatDuration(leftMs)}` : `; ${slot} has ended`
}

export const drainSettling = (end: End, clock: Clock): Settling<Worker> => ({
  ...WORKER_SETTLING,
  waited(start) {
    const waited = waitedWorker(start)
    return {
      ...waited,
      mayVanish: end === 'TERMINATED',
      judge: worker => judgeDrain(worker, end),
      progressText: worker =>
        worker.drain === null
          ? waited.progressText(worker)
          : `${worker.name} is ${worker.status}: ${drainText(worker, worker.drain, clock.now())}`,
    }
  },
})
