import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { type HeldLease, keepLeaseAlive } from './lease-keep-alive.ts'

const TTL_MS = 15_000
/** A tenth of the lease is left when we stop. */
const USABLE_MS = 13_500

interface Beat {
  readonly atMs: number
  answer(ttlMs: number): Promise<void>
  fail(error: Error): Promise<void>
}

/** A lease granted at time 0 with scripted renewals, unless `answerWith` responds. */
function aLease(answerWith?: (beat: number) => number | Promise<number>) {
  const clock = manualClock()
  const jump = { ms: 0 }
  const beats: Beat[] = []
  const failures: unknown[] = []
  const lease: HeldLease = keepLeaseAlive({
    // The process may sleep: time jumps, and no timer has run yet.
    clock: { ...clock, monotonic: () => clock.monotonic() + jump.ms },
    ttlMs: TTL_MS,
    grantSentAtMs: 0,
    onRenewalFailed: error => failures.push(error),
    renew: () =>
      new Promise<number>((resolve, reject) => {
        const settled = () => clock.advance(0)
        const answer = (ttlMs: number) => {
          resolve(ttlMs)
          return settled()
        }
        const fail = (error: Error) => {
          reject(error)
          return settled()
        }
        beats.push({ atMs: clock.monotonic(), answer, fail })
        if (answerWith) resolve(answerWith(beats.length))
      }),
  })
  return { clock, jump, beats, failures, lease, beatTimes: () => beats.map(({ atMs }) => atMs) }
}

it('renews every third of the lease and holds it for as long as renewals succeed', async () => {
  const { clock, lease, beatTimes } = aLease(() => TTL_MS)
  await clock.advance(60_000)
  expect(lease.isHeld()).toBe(true)
  expect(beatTimes()).toEqual([
    5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 35_000, 40_000, 45_000, 50_000, 55_000, 60_000,
  ])
  lease.end(new Error('enough'))
  await clock.advance(0)
  expect(clock.timersLeft()).toBe(0)
})

it('treats a time to live of 0 as a lost lease, at once', async () => {
  const { clock, lease } = aLease(beat => (beat < 3 ? TTL_MS : 0))
  await clock.advance(14_999)
  expect(lease.isHeld()).toBe(true)
  await clock.advance(1)
  expect([lease.isHeld(), lease.signal.aborted]).toEqual([false, true])
  expect(lease.signal.reason).toMatchObject({ code: 'lease_revoked' })
  await clock.advance(60_000)
  expect(clock.timersLeft()).toBe(0)
})

it('ends before the server can end it: counted from when the last successful renewal was sent', async () => {
  const { clock, lease, beats } = aLease()
  await clock.advance(5_000)
  await clock.advance(4_000)
  await beats[0]?.answer(TTL_MS)
  await clock.advance(5_000 + USABLE_MS - 9_000 - 1)
  expect([lease.isHeld(), lease.signal.aborted]).toEqual([true, false])
  await clock.advance(1)
  expect([lease.isHeld(), lease.signal.aborted]).toEqual([false, true])
  expect(lease.signal.reason).toMatchObject({ code: 'lease_ran_out' })
})

it('repeats a hanging renewal soon, without waiting for it', async () => {
  const { clock, beatTimes } = aLease()
  await clock.advance(USABLE_MS)
  expect(beatTimes()).toEqual([5_000, 6_500, 8_000, 9_500, 11_000, 12_500])
})

it('repeats a failed renewal soon, and returns to normal after a success', async () => {
  const { clock, lease, failures, beatTimes } = aLease(beat => {
    if (beat === 1) return Promise.reject(new Error('no line'))
    return TTL_MS
  })
  await clock.advance(16_500)
  expect(beatTimes()).toEqual([5_000, 6_500, 11_500, 16_500])
  expect([failures.length, lease.isHeld()]).toEqual([1, true])
})

it('counts a late response from when it was sent', async () => {
  const { clock, lease, beats } = aLease()
  await clock.advance(13_000)
  await beats[1]?.answer(TTL_MS)
  await clock.advance(6_500 + USABLE_MS - 13_000 - 1)
  expect(lease.isHeld()).toBe(true)
  await clock.advance(1)
  expect(lease.isHeld()).toBe(false)
})

it('never moves its deadline back when responses overtake one another', async () => {
  const { clock, lease, beats } = aLease()
  await clock.advance(8_000)
  await beats[2]?.answer(TTL_MS)
  await beats[0]?.answer(TTL_MS)
  await clock.advance(USABLE_MS - 1)
  expect(lease.isHeld()).toBe(true)
  await clock.advance(1)
  expect(lease.isHeld()).toBe(false)
})

it('accepts a shorter time to live than requested', async () => {
  const { clock, lease, beats } = aLease()
  await clock.advance(5_000)
  await beats[0]?.answer(10_000)
  await clock.advance(8_999)
  expect(lease.isHeld()).toBe(true)
  await clock.advance(1)
  expect(lease.isHeld()).toBe(false)
})

it('is not held by a process that slept past the deadline, before any timer has run', async () => {
  const { clock, jump, lease } = aLease(() => TTL_MS)
  await clock.advance(7_000)
  jump.ms = 60_000
  expect([lease.isHeld(), lease.signal.aborted]).toEqual([false, false])
  await clock.advance(TTL_MS)
  expect(lease.signal.aborted).toBe(true)
})

it('stays lost when a response from before the sleep arrives after it', async () => {
  const { clock, jump, lease, beats } = aLease()
  await clock.advance(12_500)
  jump.ms = 1_500
  expect(lease.isHeld()).toBe(false)
  await beats.at(-1)?.answer(TTL_MS)
  expect([lease.isHeld(), lease.signal.aborted]).toEqual([false, true])
})

it('ends when requested, the flag first, and only once', async () => {
  const { clock, lease, beats, failures } = aLease()
  const seen: boolean[] = []
  lease.signal.addEventListener('abort', () => seen.push(lease.isHeld()))
  await clock.advance(5_000)
  lease.end(new Error('resigned'))
  lease.end(new Error('again'))
  await beats[0]?.fail(new Error('canceled'))
  expect([seen, String(lease.signal.reason), failures]).toEqual([[false], 'Error: resigned', []])
})
