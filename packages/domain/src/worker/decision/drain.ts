import { toMs } from '../../instant.ts'
import type { Seen } from '../observation.ts'
import type { Drain } from '../parts.ts'
import type { Worker } from '../worker.ts'
import { announce, type Decision, type Guard, wait } from './decision.ts'

/** The door is closed already, by whoever asked for the drain. This waits until nobody is inside, and no longer than agreed. */
export function decideDraining(seen: Seen, drain: Drain): Decision {
  const { worker, policy, nowMs } = seen
  const over = drainIsOver(worker, drain, nowMs)
  const leftMs = toMs(drain.deadline) - nowMs
  const guards: Guard[] = [
    { name: 'sessions', value: sessionsOn(worker), limit: 0, passed: sessionsOn(worker) === 0 },
    { name: 'drain_seconds_left', value: Math.ceil(leftMs / 1000), limit: 0, passed: leftMs <= 0 },
  ]
  if (over === null) {
    const because = `${livingOn(worker)} ${minutes(leftMs)} min left`
    return wait(Math.min(policy.lookAgainMsMax, Math.max(leftMs, policy.lookAgainMs)), because, guards)
  }
  const status = endOf(worker, drain) === 'TERMINATED' ? 'TERMINATING' : 'STOPPING'
  const isSpared = endOf(worker, drain) !== drain.then
  const why = isSpared ? 'and it is protected, so it is only stopped' : `as ${drain.by} asked`
  return { ...announce({ status }, `${over}, ${why}`), guards }
}

/** What a drain ends with. Whoever protects a worker after that was asked for is heard. */
export const endOf = (worker: Worker, { then }: Drain): Drain['then'] => (worker.protected ? 'STOPPED' : then)

const minutes = (ms: number): number => Math.ceil(ms / 60_000)
/** `2 sessions`, as many as still hold a reservation. */
export const sessionsLeft = (worker: Worker): string => counted(sessionsOn(worker))
const sessionsOn = (worker: Worker): number => Object.keys(worker.reservations).length
const counted = (count: number): string => (count === 1 ? '1 session' : `${count} sessions`)

function livingOn(worker: Worker): string {
  const count = sessionsOn(worker)
  return count === 1 ? '1 session lives on it; it has' : `${count} sessions live on it; they have`
}

/** Why a drain is over, or null while it is not. */
export function drainIsOver(worker: Worker, drain: Drain, nowMs: number): string | null {
  if (sessionsOn(worker) === 0) return 'no session lives on it any more'
  return nowMs >= toMs(drain.deadline) ? `${counted(sessionsOn(worker))} did not end in time` : null
}
