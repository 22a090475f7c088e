import { toInstant, toMs } from '@lcm/domain/instant'
import { expect, it } from 'vitest'
import { budgetMutants } from '../mutants/budget-mutants.ts'
import { failureWithout, hunt } from '../mutants/hunt.ts'
import { RELAXED_SETTINGS } from '../world/controller-settings.ts'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aClass } from './class-fixture.ts'

it.each(budgetMutants)('is found: $name', async mutant => {
  const { failure } = await hunt(mutant, () => false)
  expect(failure?.rule).toMatch(mutant.caughtBy)
  expect(await failureWithout(mutant, 1)).toBeNull()
})

it('a booking beyond the budget of the day is refused, and runs at the time that was offered', async () => {
  const { world, operator, learner, over } = await aClass(211, { settings: RELAXED_SETTINGS })
  await operator.set({ budget_usd_per_day: 5, idle_timeout_seconds: 900, min_workers: 0 })
  const [first, second] = [1, 4].map(hours => toInstant(world.time.clock.now() + hours * HOUR_MS))
  const { timeslot } = await learner.book('one', { start: first, duration_minutes: 45 })
  const refused = await learner.book('one', { start: second, duration_minutes: 45 }).catch(error => error)
  const offered: string = refused.problem.alternatives.at(-1)
  expect(refused.problem.reason.params.cause.code).toBe('budget_booked')
  expect(offered.slice(0, 10) > timeslot.start.slice(0, 10)).toBe(true)
  const { id } = await learner.book('one', { start: offered, duration_minutes: 45 })
  await world.runFor(toMs(offered) - world.time.clock.now() + MINUTE_MS)
  expect((await world.session(id)).status).toBe('RUNNING')
  await over()
})
