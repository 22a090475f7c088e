import { aServingWorker, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { reason } from '../reason.ts'
import { CONDITION, type Worker } from '../worker/worker.ts'
import type { License } from '../worker/worker-field-schemas.ts'
import type { LicenseSeat } from './license-pool.ts'
import {
  concernsPool,
  noSeatReason,
  seatQueue,
  seatsToRecall,
  settledSeats,
  wantsSeat,
  withSeatAfter,
  withSeatOf,
} from './seat-decisions.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const nowMs = Date.parse(NOW)
const PRODUCT = 'CML_Enterprise'

const licensed = (license: Partial<License>, more: Partial<Worker> = {}): Worker => {
  const worker = aServingWorker({ id: 'w-1', ...more })
  return { ...worker, license: { ...worker.license, product: PRODUCT, ...license } }
}
const held = (more: Partial<License> = {}, worker: Partial<Worker> = {}) =>
  licensed({ seat: 'held', status: 'REGISTERED', ...more }, worker)
const seatOf = (more: Partial<LicenseSeat> = {}): LicenseSeat => ({
  worker_name: 'one',
  since: NOW,
  worker_version: 1,
  leak_id: null,
  ...more,
})

describe('a worker needs a seat', () => {
  it.each(['PENDING', 'PROVISIONING', 'STARTING', 'RUNNING', 'STOPPED'] as const)(
    'while it is %s and is to run',
    status => {
      expect(wantsSeat(licensed({ seat: 'wanted' }, { status }))).toBe(true)
    },
  )

  it.each(['FAILED', 'STOPPING', 'TERMINATING', 'TERMINATED'] as const)('but not while it is %s', status => {
    expect(wantsSeat(licensed({ seat: 'wanted' }, { status }))).toBe(false)
  })

  it('but not to stay stopped, without a product, or with a license of its own', () => {
    expect(wantsSeat(licensed({ seat: 'wanted' }, { desired_status: 'STOPPED' }))).toBe(false)
    expect(wantsSeat(licensed({ seat: 'wanted', product: null }))).toBe(false)
    expect(wantsSeat(licensed({ seat: 'none' }))).toBe(false)
  })

  it('first where sessions wait for it, then the oldest', () => {
    const one = licensed({ seat: 'wanted' }, { id: 'w-1', created_at: '2026-01-02T00:00:00.000Z' })
    const two = licensed({ seat: 'wanted' }, { id: 'w-2', created_at: '2026-01-01T00:00:00.000Z' })
    const asked = licensed(
      { seat: 'wanted' },
      { id: 'w-3', created_at: '2026-01-03T00:00:00.000Z', wanted_by: ['ls-1'] },
    )
    expect(seatQueue([one, two, held(), asked]).map(({ id }) => id)).toEqual(['w-3', 'w-2', 'w-1'])
  })
})

describe('a worker keeps its seat', () => {
  it.each([
    ['while it is registered', held()],
    ['while it is stopped with its license', held({}, { status: 'STOPPED', desired_status: 'STOPPED' })],
    ['while the result of a request is unknown', held({ status: 'UNREGISTERED', unsettled: 'deregister' })],
    [
      'until its registration begins',
      held({ status: 'UNREGISTERED', pending_operation: 'register' }, { status: 'PENDING' }),
    ],
    ['when its registration failed, until it stops', held({ status: 'FAILED' })],
    ['while it returns its license for good', held({ seat: 'leaving', status: 'DEREGISTERING' })],
  ])('%s', (_, worker) => {
    expect(withSeatAfter(worker)).toBe(worker)
  })

  it.each([
    [
      'and takes one again when it starts',
      held({ status: 'UNREGISTERED', pending_operation: 'register' }, { status: 'STOPPING' }),
      'wanted',
    ],
    ['and takes one again after a return that LCM did not request', held({ status: 'UNREGISTERED' }), 'wanted'],
    [
      'when it failed to launch',
      held({ status: 'UNREGISTERED', pending_operation: 'register' }, { status: 'FAILED' }),
      'wanted',
    ],
    ['for good when a person deregistered it', held({ seat: 'leaving', status: 'UNREGISTERED' }), 'none'],
    [
      'for good when it is terminated',
      held({ status: 'UNREGISTERED' }, { status: 'TERMINATED', desired_status: 'TERMINATED' }),
      'none',
    ],
  ] as const)('until then: it gives it up %s', (_, worker, seat) => {
    expect(withSeatAfter(worker).license).toMatchObject({ seat, pending_operation: null })
  })

  it('and says no longer that one is missing once it needs none', () => {
    const because = reason('no_license_seat', { product: PRODUCT, seats: 1, leaked: 0, stopped: null })
    const missing = { type: CONDITION.seatMissing, status: true, reason: because, since: NOW }
    const waiting = licensed({ seat: 'wanted' }, { conditions: [missing] })
    expect(withSeatAfter(waiting)).toBe(waiting)
    expect(withSeatAfter({ ...waiting, desired_status: 'STOPPED' }).conditions).toEqual([])
    expect(withSeatAfter({ ...waiting, status: 'TERMINATED' }).license.seat).toBe('none')
  })
})

describe('a seat in the pool', () => {
  const settle = (seat: LicenseSeat, worker: Worker | null, leak: string | null = null) =>
    settledSeats(
      { 'w-1': seat },
      {
        workers: new Map(worker === null ? [] : [['w-1', worker]]),
        leaks: new Map(leak === null ? [] : [['w-1', leak]]),
        nowMs,
      },
    )['w-1']

  it.each([
    ['its worker holds it', seatOf(), held({}, { version: 5 })],
    [
      'it was taken for the present version and not confirmed yet',
      seatOf({ worker_version: 5 }),
      licensed({ seat: 'wanted' }, { version: 5, desired_status: 'STOPPED' }),
    ],
    ['its worker waits for one', seatOf(), licensed({ seat: 'wanted' }, { version: 5 })],
    ['its worker is still to be created', seatOf({ worker_version: 0 }), null],
  ])('stays while %s', (_, seat, worker) => {
    expect(settle(seat, worker)).toEqual(seat)
  })

  it.each([
    ['its worker gave it up', seatOf(), licensed({ seat: 'none' }, { version: 5 })],
    ['its worker is gone', seatOf(), null],
    ['its worker was never created', seatOf({ worker_version: 0, since: '2025-12-31T23:50:00.000Z' }), null],
  ])('is free once %s', (_, seat, worker) => {
    expect(settle(seat, worker)).toBeUndefined()
  })

  it('stays with a leak until the leak is resolved, even if its worker is gone', () => {
    const leaked = seatOf({ leak_id: 'll-1' })
    expect(settle(seatOf(), null, 'll-1')).toEqual(leaked)
    expect(settle(leaked, null)).toBeUndefined()
    expect(settle(leaked, held({}, { version: 5 }))).toEqual(seatOf())
  })

  it('is taken for the version of the worker, and only if one is free or its own', () => {
    const pool = { product: PRODUCT, seats: 1, taken: {} }
    const worker = licensed({ seat: 'wanted' }, { version: 7, name: 'one' })
    const taken = withSeatOf(pool, worker, NOW)
    expect(taken).toEqual({ 'w-1': seatOf({ worker_version: 7 }) })
    const full = { ...pool, taken: taken ?? {} }
    expect(withSeatOf(full, { ...worker, id: 'w-2' }, NOW)).toBeNull()
    expect(withSeatOf(full, { ...worker, version: 9 }, NOW)).toEqual({ 'w-1': seatOf({ worker_version: 9 }) })
  })
})

it('calls seats back from workers that are being stopped, as many as are missing', () => {
  const stopping = held({}, { id: 'w-2', status: 'STOPPING', desired_status: 'STOPPED' })
  const stopped = held({}, { id: 'w-3', status: 'STOPPED', desired_status: 'STOPPED' })
  const all = [held(), stopping, { ...stopping, id: 'w-4' }, stopped]
  expect(seatsToRecall(all, 1).map(({ id }) => id)).toEqual(['w-2'])
  expect(seatsToRecall(all, 9).map(({ id }) => id)).toEqual(['w-2', 'w-4'])
  expect(seatsToRecall(all, 0)).toEqual([])
})

it('names a stopped worker that keeps a seat', () => {
  const taken = { 'w-1': seatOf(), 'w-2': seatOf({ leak_id: 'll-1' }) }
  const stopped = held({}, { name: 'metal-1', status: 'STOPPED' })
  expect(noSeatReason({ product: PRODUCT, seats: 2, taken }, [stopped]).params).toEqual({
    product: PRODUCT,
    seats: 2,
    leaked: 1,
    stopped: 'metal-1',
  })
})

describe('a change concerns the pool', () => {
  const waiting = licensed({ seat: 'wanted' })
  it.each([
    ['when a seat is given up', held(), waiting, true],
    ['when a worker starts to need one', { ...waiting, desired_status: 'STOPPED' }, waiting, true],
    ['when a worker with a seat is to stop', held(), held({}, { desired_status: 'STOPPED' }), true],
    ['but not otherwise', held(), held({ last_error: 'x' }), false],
    ['and never without a pool', aWorker(), aWorker({ desired_status: 'STOPPED' }), false],
  ] as const)('%s', (_, before, after, expected) => {
    expect(concernsPool(before as Worker, after as Worker)).toBe(expected)
  })
})
