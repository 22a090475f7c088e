import { ApiError } from '@lcm/client/client'
import { countsInQuota } from '@lcm/domain/quota/booking-ledger'
import { expect, it } from 'vitest'
import { learnersOf } from '../people/learner-requests.ts'
import { operatorOf } from '../people/operator-requests.ts'
import { MINUTE_MS } from '../world/durations.ts'
import { openWorld } from '../world/world.ts'

const LIVE = 2
const BOOKINGS = 5
/** Store calls of a burst, from its first read to the last answer, and a few more. */
const CALLS = [1, 4, 9, 14, 19, 24, 31, 38, 45, 52, 60, 75]

it('a learner who books in bursts while the API is killed never exceeds the quota and loses none of it', async () => {
  // No controller: the sessions stay PENDING.
  const world = await openWorld(940)
  const learner = learnersOf(world)
  await learner.define()
  await operatorOf(world).set({ quota_user_live_sessions: LIVE })
  const open = () => [...world.sessions.sessions.values()].filter(countsInQuota)
  const burst = () =>
    Promise.allSettled(Array.from({ length: BOOKINGS }, () => learner.book('one', { duration_minutes: 50 }, 'ada')))
  const cancelAll = async () => {
    for (const { id } of open()) await learner.cancel(id)
  }
  for (const [nth, calls] of CALLS.entries()) {
    world.api.killAt(calls, nth % 2 === 0 ? 'before' : 'after', 5_000)
    // Clients repeat a lost request while the API restarts.
    const lost = burst()
    await world.runFor(4 * MINUTE_MS)
    await lost
    await world.api.restore()
    await cancelAll()
    await world.runFor(MINUTE_MS)
    const answers = await burst()
    const refusals = answers.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
    const codes = refusals.map(error => (error instanceof ApiError ? error.problem.code : String(error)))
    expect([calls, codes]).toEqual([calls, Array.from({ length: BOOKINGS - LIVE }, () => 'quota_exceeded')])
    await world.runFor(5_000)
    expect(open()).toHaveLength(LIVE)
    await cancelAll()
    await world.runFor(MINUTE_MS)
  }
  await world.close()
})
