import { toInstant, toMs } from '@lcm/domain/instant'
import { expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aClass } from './class-fixture.ts'

it('two classes that follow each other share a worker, and the second lab starts when the first one is gone', async () => {
  const { world, operator, learner, over } = await aClass(206)
  const { clock } = world.time
  const noon = `${toInstant(clock.now()).slice(0, 10)}T02:00:00.000Z`
  await world.runFor(toMs(noon) - clock.now() - 100 * MINUTE_MS)
  await operator.set({ schedule_ahead_minutes: 35 })
  const { id: worker } = await operator.createAndRun('one')
  // Each lab of four nodes fills a worker without a license.
  const start = toInstant(toMs(noon) - HOUR_MS)
  const first = await learner.book('four', { start, duration_minutes: 60 })
  const next = toInstant(toMs(noon) + 15 * MINUTE_MS)
  const second = await learner.book('four', { start: next, duration_minutes: 30 })
  await world.runFor(toMs(noon) - 5 * MINUTE_MS - clock.now())
  const { reservations } = await world.worker(worker)
  expect(Object.keys(reservations).sort()).toEqual([first.id, second.id].sort())
  expect(reservations[first.id]?.started_at).not.toBeNull()
  expect(reservations[second.id]?.started_at).toBeNull()
  await world.runFor(toMs(next) + MINUTE_MS - clock.now())
  expect(Object.keys((await world.worker(worker)).reservations)).toEqual([second.id])
  expect(await world.session(second.id)).toMatchObject({ status: 'RUNNING', worker_id: worker })
  expect(world.workers()).toHaveLength(1)
  await world.runFor(2 * HOUR_MS)
  await over()
})
