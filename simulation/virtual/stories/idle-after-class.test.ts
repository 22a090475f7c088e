import { toInstant, toMs } from '@lcm/domain/instant'
import { expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aClass } from './class-fixture.ts'

it('a class ends on the hour, and its idle workers count from then on', async () => {
  const { world, operator, learner, over } = await aClass(205)
  const { clock } = world.time
  await operator.set({ idle_action: 'pause', scale_down_cooldown_seconds: 0 })
  const end = `${toInstant(clock.now()).slice(0, 10)}T02:00:00.000Z`
  await world.runFor(toMs(end) - clock.now() - 100 * MINUTE_MS)
  const workers: string[] = []
  for (const name of ['one', 'two', 'three']) workers.push((await operator.createAndRun(name)).id)
  // Each lab of four nodes fills a worker without a license.
  const start = toInstant(toMs(end) - HOUR_MS)
  for (let n = 0; n < 3; n += 1) await learner.book('four', { start, duration_minutes: 60 })
  await world.runFor(toMs(end) + 30 * MINUTE_MS - clock.now())
  for (const id of workers) {
    const { activity, reservations } = await world.worker(id)
    expect(reservations).toEqual({})
    expect(activity.last_activity_at).toBe(end)
    expect(activity.recent_events.map(({ category }) => category)).toEqual(['session_end'])
  }
  for (const id of workers) {
    const { pause } = await world.until(id, 'STOPPED', HOUR_MS)
    const pausedMs = toMs(pause.last_paused_at ?? '')
    const decision = (await operator.decisions(id)).find(({ action }) => action === 'pause')
    const idleSeconds = Number(decision?.guards.find(({ name }) => name === 'idle_seconds')?.value)
    expect(idleSeconds).toBeGreaterThanOrEqual(3600)
    expect(Math.abs(pausedMs - idleSeconds * 1000 - toMs(end))).toBeLessThanOrEqual(1_000)
  }
  await over()
})
