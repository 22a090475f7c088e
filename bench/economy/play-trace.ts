import { seededRandom } from '@lcm/testkit/seeded-random'
import { TEMPLATE } from './cloud-times.ts'
import { eventQueue } from './event-queue.ts'
import { type BilledHours, type Faults, type Fleet, fleet, NO_FAULTS } from './fleet.ts'
import type { Order, Policy } from './policy.ts'
import { DEFINITIONS, type Outcome, type Sessions, sessions } from './sessions.ts'
import { type Booking, HOUR_MS, TERM_MS } from './trace.ts'

/** Machines that still run so long after the last session are not billed any more. */
const AFTER_LAST_MS = 2 * HOUR_MS

export interface Played {
  readonly outcomes: readonly Outcome[]
  readonly hours: BilledHours
  readonly boots: number
  readonly peak: number
  readonly workers: number
  readonly usd: number
}

/**
 * Plays bookings against a policy on virtual time: everything that happens at one moment, then one decision. An order that LCM
 * would refuse ends the run with an error, so that no policy is cheaper than it could be.
 */
export function playTrace(
  bookings: readonly Booking[],
  policy: Policy,
  { seed = 1, faults = NO_FAULTS }: { seed?: number; faults?: Faults } = {},
): Played {
  const queue = eventQueue()
  let nowMs = 0
  const now = () => nowMs
  // Two sources, so that policies with more boots meet the same learners and labs.
  const machines = fleet({ queue, now, random: seededRandom(2 * seed), faults })
  const all = sessions(bookings, { queue, now, random: seededRandom(2 * seed + 1), fleet: machines })
  const endMs = Math.max(TERM_MS, ...bookings.map(each => each.endMs)) + AFTER_LAST_MS
  let decideMs = Number.POSITIVE_INFINITY
  for (;;) {
    const nextMs = Math.min(queue.nextMs(), decideMs)
    if (nextMs > endMs) break
    nowMs = nextMs
    const news = queue.runUntil(nowMs)
    if (news === 0 && nowMs < decideMs) continue
    const { orders, nextMs: again } = policy.decide(viewOf(nowMs, machines, all))
    for (const order of orders) carryOut(order, machines, all)
    if (again <= nowMs) throw new Error(`${policy.name} decides again at once. Return a later time.`)
    decideMs = again
  }
  nowMs = endMs
  const { hours, boots, peak } = machines.bill()
  const total = hours.boot + hours.lab + hours.reserved + hours.idle
  const workers = machines.workers().length
  return { outcomes: all.outcomes(), hours, boots, peak, workers, usd: total * TEMPLATE.cost_per_hour_usd }
}

const viewOf = (nowMs: number, machines: Fleet, all: Sessions) => ({
  nowMs,
  template: TEMPLATE,
  workers: machines.workers(),
  sessions: all.open(),
  definitions: DEFINITIONS,
  boots: machines.boots(),
  labStartsMs: all.labStartsMs,
  teardownsMs: all.teardownsMs,
})

function carryOut(order: Order, machines: Fleet, all: Sessions): void {
  if (order.kind === 'assign') all.assign(order)
  else if (order.kind === 'buy') machines.buy(order.worker_id, order.session_ids)
  else if (order.kind === 'wake') machines.wake(order.worker_id, order.session_ids)
  else machines.stop(order.worker_id, order.because)
}
