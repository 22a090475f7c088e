import type { Dispatch } from '@lcm/contract/route-spec'
import type { Clock } from '@lcm/runtime/clock'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { apiClock } from './api-clock.ts'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const HOUR_MS = 3_600_000
const request = { method: 'GET', url: '/', headers: {}, body: null, signal: new AbortController().signal }

/** A controller whose wall clock can be set, and an API with the right time. */
function skewed() {
  const truth = manualClock(START)
  const own = { wrongByMs: 0 }
  const clock: Clock = { ...truth, now: () => truth.now() + own.wrongByMs }
  const answering =
    (ms = 0): Dispatch =>
    async () => {
      const date = new Date(truth.now()).toUTCString()
      await truth.advance(ms)
      return { status: 200, headers: { date }, body: null }
    }
  return { truth, own, clock, answering }
}

it('ignores changes of the wall clock', async () => {
  const { truth, own, clock } = skewed()
  const heard = apiClock(clock)
  own.wrongByMs = HOUR_MS
  await truth.advance(1_000)
  expect(heard.clock.now()).toBe(START + 1_000)
})

it('is corrected by the first response when the wall clock was wrong', async () => {
  const { own, clock, answering } = skewed()
  own.wrongByMs = -HOUR_MS
  const heard = apiClock(clock)
  expect(heard.clock.now()).toBe(START - HOUR_MS)
  await heard.hearing(answering())(request)
  expect(Math.abs(heard.clock.now() - START)).toBeLessThanOrEqual(1_000)
})

it('keeps its milliseconds while it agrees with the API', async () => {
  const { own, clock, answering } = skewed()
  own.wrongByMs = 700
  const heard = apiClock(clock)
  await heard.hearing(answering())(request)
  expect(heard.clock.now()).toBe(START + 700)
})

it('is corrected by a slow response when it was off by more than the delay', async () => {
  const { own, truth, clock, answering } = skewed()
  own.wrongByMs = HOUR_MS
  const heard = apiClock(clock)
  await heard.hearing(answering(20_000))(request)
  expect(Math.abs(heard.clock.now() - truth.now())).toBeLessThanOrEqual(20_000)
})

it('is not set back by a slow response', async () => {
  const { truth, clock, answering } = skewed()
  const heard = apiClock(clock)
  await heard.hearing(answering(4_000))(request)
  expect(heard.clock.now()).toBe(truth.now())
})

it('ignores a response that is too slow or has no date', async () => {
  const { truth, clock, answering } = skewed()
  const heard = apiClock(clock)
  await heard.hearing(answering(HOUR_MS))(request)
  await heard.hearing(async () => ({ status: 200, headers: {}, body: null }))(request)
  await heard.hearing(async () => ({ status: 200, headers: { date: 'today' }, body: null }))(request)
  expect(heard.clock.now()).toBe(truth.now())
})
