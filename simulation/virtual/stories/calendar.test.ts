import { toInstant, toMs } from '@lcm/domain/instant'
import { describe, expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aClass, type Class } from './class-fixture.ts'

/** Books a class of labs with one node, of which five run on a machine without a license. */
const bookClass = ({ learner }: Class, seats: number, startMs: number, minutes = 60): Promise<{ id: string }[]> =>
  Promise.all(
    Array.from({ length: seats }, () => learner.book('one', { start: toInstant(startMs), duration_minutes: minutes })),
  )
const statusesOf = ({ world }: Class, booked: readonly { id: string }[]) =>
  new Set(booked.map(({ id }) => world.sessions.sessions.get(id)?.status))
const starts = ({ world }: Class) => world.mutations.filter(({ act }) => act === 'launch' || act === 'start').length
const isOn = ({ world }: Class) => world.workers().filter(({ desired_status }) => desired_status === 'RUNNING')
const tomorrowAtNine = ({ world }: Class): number =>
  toMs(`${toInstant(world.time.clock.now() + 24 * HOUR_MS).slice(0, 10)}T09:00:00.000Z`)

describe('the calendar', () => {
  it('has a class of 20 READY tomorrow at nine on a fleet without workers, and buys no earlier than needed', async () => {
    const story = await aClass(701, { speed: 1 })
    const { world, over } = story
    const { clock } = world.time
    const nineMs = tomorrowAtNine(story)
    const booked = await bookClass(story, 20, nineMs)
    await world.runFor(nineMs - 50 * MINUTE_MS - clock.now())
    expect(world.workers()).toEqual([])
    await world.runFor(nineMs - 1_000 - clock.now())
    expect(statusesOf(story, booked)).toEqual(new Set(['READY']))
    expect(world.workers()).toHaveLength(4)
    await over()
  })

  it('lets two classes back to back share their machines, and stops them soon after the second', async () => {
    const story = await aClass(702)
    const { world, over } = story
    const { clock } = world.time
    const firstMs = clock.now() + 3 * HOUR_MS
    const secondMs = firstMs + 80 * MINUTE_MS
    const first = await bookClass(story, 10, firstMs)
    const second = await bookClass(story, 10, secondMs)
    await world.runFor(firstMs + MINUTE_MS - clock.now())
    expect(statusesOf(story, first)).toEqual(new Set(['RUNNING']))
    const before = starts(story)
    await world.runFor(secondMs + MINUTE_MS - clock.now())
    expect(statusesOf(story, second)).toEqual(new Set(['RUNNING']))
    expect([starts(story), isOn(story).length]).toEqual([before, 2])
    await world.runFor(secondMs + 70 * MINUTE_MS - clock.now())
    expect(isOn(story)).toEqual([])
    const [worker] = world.workers()
    expect(worker).toMatchObject({
      desired_by: 'idle',
      desired_reason: expect.stringContaining('nothing is planned on it'),
    })
    await over()
  })

  it('stops machines between two classes when sleeping costs less, and wakes them in time for the next', async () => {
    const story = await aClass(703)
    const { world, over } = story
    const { clock } = world.time
    const firstMs = clock.now() + 2 * HOUR_MS
    const secondMs = firstMs + 5 * HOUR_MS
    await bookClass(story, 5, firstMs)
    const second = await bookClass(story, 5, secondMs)
    await world.runFor(firstMs + 75 * MINUTE_MS - clock.now())
    expect(isOn(story)).toEqual([])
    expect(world.workers()[0]?.desired_reason).toMatch(/^next use .*; sleeping costs .* USD, staying .* USD$/)
    await world.runFor(secondMs - 1_000 - clock.now())
    expect(statusesOf(story, second)).toEqual(new Set(['READY']))
    expect([world.workers().length, starts(story)]).toEqual([1, 2])
    await over()
  })

  it('plans a class elsewhere when EC2 does not start its machine', async () => {
    const story = await aClass(704)
    const { world, manual, over } = story
    const { clock } = world.time
    const firstMs = clock.now() + 2 * HOUR_MS
    await bookClass(story, 5, firstMs)
    await world.runFor(firstMs + 75 * MINUTE_MS - clock.now())
    const [{ availability_zone, instance_type } = { availability_zone: '', instance_type: '' }] = world.workers()
    manual.setCapacity(availability_zone ?? '', instance_type ?? '', 0)
    const secondMs = clock.now() + 2 * HOUR_MS
    const second = await bookClass(story, 5, secondMs)
    await world.runFor(secondMs + 35 * MINUTE_MS - clock.now())
    expect(statusesOf(story, second)).toEqual(new Set(['RUNNING']))
    expect(world.workers()).toHaveLength(2)
    manual.setCapacity(availability_zone ?? '', instance_type ?? '', null)
    await over()
  })
})
