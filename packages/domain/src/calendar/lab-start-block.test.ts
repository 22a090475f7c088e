import { aServingWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import { reason } from '../reason.ts'
import { NO_LICENSE } from '../worker/worker-field-schemas.ts'
import { labStartBlock } from './lab-start-block.ts'
import { withReservation, withTimes } from './worker-ledger.ts'

const NOW = '2026-01-02T09:00:00.000Z'
const at = (minutes: number) => toInstant(toMs(NOW) + minutes * 60_000)
const needs = (memory_gb: number, node_count = 1) => ({
  ...{ cpu_cores: 1, memory_gb, storage_gb: 0, node_count, nested_virtualization: false },
})
const times = (from: number, until: number) => ({ since: at(-100), from: at(from), until: at(until) })
const started = (worker: ReturnType<typeof aServingWorker>, id: string) => withTimes(worker, id, { started_at: NOW })

const machine = aServingWorker({ name: 'metal-1' })
const next = withReservation(machine, 'ls-next', needs(100), times(0, 60))
const waitsFor = (...sessions: string[]) => reason('waiting_for_predecessors', { worker: 'metal-1', sessions })

it('lets a lab start on a free worker, and one that has started already', () => {
  expect(labStartBlock(next, 'ls-next')).toBeNull()
  const full = started(started(withReservation(next, 'ls-other', needs(190), times(-60, 0)), 'ls-other'), 'ls-next')
  expect(labStartBlock(full, 'ls-next')).toBeNull()
})

it('refuses a lab without a reservation', () => {
  expect(labStartBlock(next, 'ls-none')).toEqual(reason('capacity_not_reserved', { worker: 'metal-1' }))
})

it('names the labs that should be gone, not those that share the worker by plan', () => {
  const late = started(withReservation(next, 'ls-late', needs(90), times(-60, 0)), 'ls-late')
  const beside = started(withReservation(late, 'ls-beside', needs(10), times(-60, 60)), 'ls-beside')
  expect(labStartBlock(beside, 'ls-next')).toEqual(waitsFor('ls-late'))
})

it('names a held lab if nothing is late, and else all that run', () => {
  const held = withReservation(next, 'ls-held', needs(90), NOW)
  const beside = started(withReservation(held, 'ls-beside', needs(10), times(-60, 60)), 'ls-beside')
  expect(labStartBlock(beside, 'ls-next')).toEqual(waitsFor('ls-held'))
  const smaller = {
    ...beside,
    reservations: { ...beside.reservations, 'ls-held': started(next, 'ls-next').reservations['ls-next'] },
  }
  expect(labStartBlock(smaller as typeof beside, 'ls-next')).toEqual(waitsFor('ls-beside', 'ls-held'))
})

it('does not count labs that have not started', () => {
  expect(labStartBlock(withReservation(next, 'ls-late', needs(190), times(-60, 0)), 'ls-next')).toBeNull()
})

it('blocks no lab where the capacity of the worker is unknown', () => {
  const late = started(withReservation(next, 'ls-late', needs(190), times(-60, 0)), 'ls-late')
  expect(labStartBlock(late, 'ls-next')).not.toBeNull()
  expect(labStartBlock({ ...late, capacity: { ...late.capacity, declared: null } }, 'ls-next')).toBeNull()
})

it('counts nodes within the limit of the license', () => {
  const unlicensed = { ...machine, license: NO_LICENSE }
  const three = started(withReservation(unlicensed, 'ls-late', needs(1, 3), times(-60, 0)), 'ls-late')
  const both = withReservation(three, 'ls-next', needs(1, 3), times(0, 60))
  expect(labStartBlock(both, 'ls-next')).toEqual(waitsFor('ls-late'))
  // A lab that is too large by itself waits for no other one: CML refuses it.
  const alone = withReservation(unlicensed, 'ls-next', needs(1, 9), times(0, 60))
  expect(labStartBlock(alone, 'ls-next')).toBeNull()
})
