import { heldFrom } from '@lcm/domain/calendar/worker-ledger'
import { expect, it } from 'vitest'
import { overbooked, sharedPorts } from './reservation-rules.ts'
import { aServingWorker } from './test-data-builders.ts'

const needs = { cpu_cores: 2, memory_gb: 4, storage_gb: 1, nodes: 3, ...heldFrom('2026-01-01T00:00:00.000Z') }
const declared = { cpu_cores: 4, memory_gb: 16, storage_gb: 10, max_nodes: 20 }
const none = { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 }
const times = (n: number) => ({ cpu_cores: 2 * n, memory_gb: 4 * n, storage_gb: n, nodes: 3 * n })

it('finds nothing wrong with consistent reservations', () => {
  const capacity = { declared, reserved: times(2) }
  expect(overbooked(aServingWorker({ capacity, reservations: { a: needs, b: needs } }))).toEqual([])
  expect(overbooked(aServingWorker({ capacity: { declared: null, reserved: none }, reservations: {} }))).toEqual([])
})

it('finds reserved capacity beyond the total', () => {
  const capacity = { declared, reserved: times(3) }
  const worker = aServingWorker({ name: 'w', capacity, reservations: { a: needs, b: needs, c: needs } })
  expect(overbooked(worker)).toEqual(['w has 6 of 4 cpu_cores reserved', 'w has 6 of 4 cpu_cores in use'])
})

const at = (minutes: number) => `2026-01-01T00:${minutes}:00.000Z`
const span = (from: number, until: number) => ({ ...needs, from: at(from), until: at(until), started_at: null })

it('counts reservations that follow each other at their own times', () => {
  const worker = (c: object) =>
    aServingWorker({
      name: 'w',
      capacity: { declared, reserved: times(2) },
      reservations: { a: span(10, 20), b: span(10, 30), c: { ...span(20, 40), ...c } },
    })
  expect(overbooked(worker({}))).toEqual([])
  expect(overbooked(worker({ from: at(19) }))).toContain('w has 6 of 4 cpu_cores reserved')
})

it('finds labs that were started before those of earlier sessions were gone', () => {
  const started = { started_at: at(20) }
  const reservations = { a: { ...span(10, 20), ...started }, b: { ...span(10, 20), ...started }, c: span(20, 40) }
  const capacity = { declared, reserved: times(2) }
  expect(overbooked(aServingWorker({ name: 'w', capacity, reservations }))).toEqual([])
  const early = { ...reservations, c: { ...span(20, 40), ...started } }
  expect(overbooked(aServingWorker({ name: 'w', capacity, reservations: early }))).toEqual([
    'w has 6 of 4 cpu_cores in use',
  ])
})

it('finds reserved capacity without a reservation, and sessions on a worker without capacity', () => {
  const miscounted = aServingWorker({ name: 'w', capacity: { declared, reserved: times(1) }, reservations: {} })
  expect(overbooked(miscounted)).toContain('w says that 2 cpu_cores are reserved, and its book 0')
  const bare = aServingWorker({ name: 'w', capacity: { declared: null, reserved: none }, reservations: { a: needs } })
  expect(overbooked(bare)).toEqual(['w declares no capacity and has sessions'])
})

it('finds a port that two labs have', () => {
  expect(sharedPorts(aServingWorker({ ports: { 'lr-1': { a: 2000 }, 'lr-2': { a: 2001 } } }))).toEqual([])
  expect(sharedPorts(aServingWorker({ name: 'w', ports: { 'lr-1': { a: 2000 }, 'lr-2': { b: 2000 } } }))).toEqual([
    'w has a port twice: 2000,2000',
  ])
})
