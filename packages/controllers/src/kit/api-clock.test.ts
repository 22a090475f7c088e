import type { Dispatch } from '@lcm/contract/route'
import type { Clock } from '@lcm/runtime/clock'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { apiClock } from './api-clock.ts'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const HOUR_MS = 3_600_000
const request = { method: 'GET', url: '/', headers: {}, body: null, signal: new AbortController().signal }

/** A controller whose wall clock can be set, and an API that is right. */
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

it('does not notice when somebody sets the wall clock', async () => {
  const { truth, own, clock } = skewed()
  const heard = apiClock(clock)
  own.wrongByMs = HOUR_MS
  await truth.advance(1_000)
  expect(heard.clock.now()).toBe(START + 1_000)
})

it('is put right by an answer where it began wrong', async () => {
  const { own, clock, answering } = skewed()
  own.wrongByMs = -HOUR_MS
  const heard = apiClock(clock)
  expect(heard.clock.now()).toBe(START - HOUR_MS)
  await heard.hearing(answering())(request)
  expect(Math.abs(heard.clock.now() - START)).toBeLessThanOrEqual(1_000)
})

it('keeps its own fine time while the two agree', async () => {
  const { own, clock, answering } = skewed()
  own.wrongByMs = 700
  const heard = apiClock(clock)
  await heard.hearing(answering())(request)
  expect(heard.clock.now()).toBe(START + 700)
})

it('is put right by a late answer too, where it began further off than that was late', async () => {
  const { own, truth, clock, answering } = skewed()
  own.wrongByMs = HOUR_MS
  const heard = apiClock(clock)
  await heard.hearing(answering(20_000))(request)
  expect(Math.abs(heard.clock.now() - truth.now())).toBeLessThanOrEqual(20_000)
})

it('is not set back by an answer that took its time', async () => {
  const { truth, clock, answering } = skewed()
  const heard = apiClock(clock)
  await heard.hearing(answering(4_000))(request)
  expect(heard.clock.now()).toBe(truth.now())
})

it('learns nothing from an answer that was long under way, or that has no time', async () => {
  const { truth, clock, answering } = skewed()
  const heard = apiClock(clock)
  await heard.hearing(answering(HOUR_MS))(request)
  await heard.hearing(async () => ({ status: 200, headers: {}, body: null }))(request)
  await heard.hearing(async () => ({ status: 200, headers: { date: 'today' }, body: null }))(request)
  expect(heard.clock.now()).toBe(truth.now())
})
