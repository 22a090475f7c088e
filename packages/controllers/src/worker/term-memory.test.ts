import { toInstant } from '@lcm/domain/instant'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { anAttempt, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { observationMemory } from './term-memory.ts'

const MINUTE_MS = 60_000
const launchedAt = (ms: number) => aWorker({ launch: anAttempt({ requested_at: toInstant(ms) }) })
/** `aheadMs`: by how much the wall clock was set ahead. */
const at = (ms: number, aheadMs = 0) => ({ now: () => ms + aheadMs, monotonic: () => ms })
const WORKER = aWorker({ id: 'w-1' })
const PROBE = { stage: 'READY', version: '2.9.1', certificate_sha256: null, detail: '' } as const

describe('an absence', () => {
  it('is confirmed only after two misses a minute apart', () => {
    const memory = observationMemory(WORKER_POLICY)
    const worker = launchedAt(0)
    const later = 10 * MINUTE_MS
    expect(memory.missed(worker, at(later))).toMatchObject({ kind: 'absent', confirmed: false })
    expect(memory.missed(worker, at(later + MINUTE_MS - 1))).toMatchObject({ confirmed: false })
    expect(memory.missed(worker, at(later + MINUTE_MS))).toMatchObject({ confirmed: true })
  })

  it('is not confirmed because the clock was set ahead between two observations', () => {
    const memory = observationMemory(WORKER_POLICY)
    const worker = launchedAt(0)
    memory.missed(worker, at(10 * MINUTE_MS))
    expect(memory.missed(worker, at(10 * MINUTE_MS + 1_000, 60 * MINUTE_MS))).toMatchObject({ confirmed: false })
  })

  it('starts over when the machine is found in between', () => {
    const memory = observationMemory(WORKER_POLICY)
    const worker = launchedAt(0)
    memory.missed(worker, at(10 * MINUTE_MS))
    memory.found(worker.id)
    expect(memory.missed(worker, at(12 * MINUTE_MS))).toMatchObject({ confirmed: false })
  })

  it('is not confirmed within five minutes of a launch', () => {
    const memory = observationMemory(WORKER_POLICY)
    const worker = launchedAt(0)
    memory.missed(worker, at(MINUTE_MS))
    expect(memory.missed(worker, at(4 * MINUTE_MS))).toMatchObject({ confirmed: false })
    expect(memory.missed(worker, at(5 * MINUTE_MS))).toMatchObject({ confirmed: true })
  })
})

describe('an open launch attempt', () => {
  it('counts as without a machine only long after the last request to the cloud', () => {
    const memory = observationMemory(WORKER_POLICY)
    const worker = aWorker({ launch: anAttempt({ state: 'open', requested_at: toInstant(0) }) })
    memory.missed(worker, at(10 * MINUTE_MS))
    memory.launchSent(worker.id)
    expect(memory.missed(worker, at(20 * MINUTE_MS))).toMatchObject({ confirmed: false })
    expect(memory.missed(worker, at(24 * MINUTE_MS))).toMatchObject({ confirmed: false })
    expect(memory.missed(worker, at(25 * MINUTE_MS))).toMatchObject({ confirmed: true })
  })
})

it('starts over with every term', () => {
  let memory = observationMemory(WORKER_POLICY)
  const worker = launchedAt(0)
  memory.missed(worker, at(10 * MINUTE_MS))
  memory = observationMemory(WORKER_POLICY)
  expect(memory.missed(worker, at(20 * MINUTE_MS))).toMatchObject({ confirmed: false })
})

describe('probing CML', () => {
  it('counts ready answers in a row, per address', () => {
    const memory = observationMemory(WORKER_POLICY)
    const see = (url: string, stage: 'API' | 'READY', ms: number) =>
      memory.sawCml('w-1', url, { ...PROBE, stage }, ms).ready_streak
    expect([see('a', 'READY', 0), see('a', 'READY', 1), see('a', 'API', 2), see('a', 'READY', 3)]).toEqual([1, 2, 0, 1])
    expect(see('b', 'READY', 4)).toBe(1)
  })

  it('does not probe twice within the interval, however often the worker is woken', () => {
    const memory = observationMemory(WORKER_POLICY)
    expect(memory.recentCml(WORKER, 'a', 0)).toBeNull()
    memory.sawCml('w-1', 'a', PROBE, 0)
    expect(memory.recentCml(WORKER, 'a', 5_000)).toMatchObject({ ready_streak: 1 })
    expect(memory.recentCml(WORKER, 'b', 5_000)).toBeNull()
    expect(memory.recentCml(WORKER, 'a', 10_000)).toBeNull()
    const served = { ...WORKER, cml: { ...WORKER.cml, up_until: WORKER.created_at } }
    expect(memory.recentCml(served, 'a', 5_000), 'one that served before is trusted sooner').toBeNull()
  })

  it('is dropped with the worker', () => {
    const memory = observationMemory(WORKER_POLICY)
    memory.sawCml('w-1', 'a', PROBE, 0)
    memory.forget('w-1')
    expect(memory.recentCml(WORKER, 'a', 1)).toBeNull()
  })
})
