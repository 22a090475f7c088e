import { expect, it } from 'vitest'
import { manualClock } from './manual-clock.ts'

it('stands still until it is advanced', async () => {
  const clock = manualClock()
  const before = [clock.now(), clock.monotonic()]
  await clock.advance(0)
  expect([clock.now(), clock.monotonic()]).toEqual(before)
})

it('fires timers in the order of their time, then of their creation', async () => {
  const clock = manualClock()
  const fired: string[] = []
  clock.after(20, () => fired.push(`late at ${clock.monotonic()}`))
  clock.after(10, () => fired.push(`first at ${clock.monotonic()}`))
  clock.after(10, () => fired.push(`second at ${clock.monotonic()}`))
  clock.after(21, () => fired.push('not yet'))
  await clock.advance(20)
  expect(fired).toEqual(['first at 10', 'second at 10', 'late at 20'])
})

it('keeps the order of creation for any number of timers of the same instant', async () => {
  const clock = manualClock()
  const fired: number[] = []
  const order = Array.from({ length: 20 }, (_, index) => index)
  for (const index of order) clock.after(10, () => fired.push(index))
  await clock.advance(10)
  expect(fired).toEqual(order)
})

it('lets long chains of promises settle between two timers', async () => {
  const clock = manualClock()
  const events: string[] = []
  const chain = async (name: string, ms: number) => {
    await clock.sleep(ms)
    for (let count = 0; count < 50; count += 1) await Promise.resolve()
    events.push(name)
  }
  void chain('first', 10)
  void chain('second', 11)
  await clock.advance(11)
  expect(events).toEqual(['first', 'second'])
})

it('fires timers that were set by timers within the same advance', async () => {
  const clock = manualClock()
  let rounds = 0
  const again = () => {
    rounds += 1
    clock.after(10, again)
  }
  clock.after(10, again)
  await clock.advance(100)
  expect(rounds).toBe(10)
})

it('does not fire canceled timers', async () => {
  const clock = manualClock()
  let hasFired = false
  const cancel = clock.after(10, () => {
    hasFired = true
  })
  expect(clock.timersLeft()).toBe(1)
  cancel()
  cancel()
  await clock.advance(10)
  expect([hasFired, clock.timersLeft()]).toEqual([false, 0])
})

it('jumps its wall clock without touching timers or the monotonic clock', async () => {
  const clock = manualClock(1_000)
  let firedAt = 0
  clock.after(50, () => {
    firedAt = clock.monotonic()
  })
  clock.jumpWallClock(-600)
  await clock.advance(50)
  expect([clock.now(), clock.monotonic(), firedAt]).toEqual([450, 50, 50])
})
