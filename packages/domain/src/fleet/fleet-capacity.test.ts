import { aServingWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { ALWAYS } from '../calendar/span.ts'
import { heldFrom } from '../calendar/worker-ledger.ts'
import { freeCapacityOf } from '../session/free-capacity.ts'
import { bestOf } from '../session/placement.ts'
import type { Worker } from '../worker/worker.ts'
import { NO_LICENSE, NOTHING_RESERVED } from '../worker/worker-field-schemas.ts'
import { fleetCapacity } from './fleet-capacity.ts'

const declared = { cpu_cores: 48, memory_gb: 184, storage_gb: 150, max_nodes: 200 }
const reserved = { cpu_cores: 3.3, memory_gb: 12, storage_gb: 0, nodes: 3 }
const metal = ({ capacity = { declared, reserved }, ...more }: Partial<Worker> = {}) =>
  aServingWorker({
    capacity,
    reservations: { 'ls-1': { ...capacity.reserved, ...heldFrom('2026-01-02T03:04:05.000Z') } },
    ...more,
  })
const nodesOf = (...workers: Worker[]) => {
  const { declared, usable, reserved, closed_workers } = fleetCapacity(workers)
  return { declared: declared.nodes, usable: usable.nodes, reserved: reserved.nodes, closed_workers }
}

describe('the capacity of the fleet', () => {
  it('is 5 nodes for each worker without a license, whatever the size of the machine', () => {
    const unlicensed = Array.from({ length: 11 }, () => metal({ license: NO_LICENSE }))
    expect(nodesOf(...unlicensed)).toEqual({ declared: 2200, usable: 55, reserved: 33, closed_workers: 0 })
  })

  it('is what the license includes', () => {
    expect(nodesOf(metal())).toEqual({ declared: 200, usable: 20, reserved: 3, closed_workers: 0 })
  })

  it.each<[string, Partial<Worker>]>([
    ['cordoned', { cordoned: true }],
    ['draining', { status: 'DRAINING' }],
    ['to be stopped', { desired_status: 'STOPPED' }],
    ['without an answer of its CML', { service_status: 'UNAVAILABLE' }],
    [
      'not approved',
      { approval: { state: 'required', by: null, at: null, fingerprint: null }, ec2_instance_id: 'i-1' },
    ],
  ])('is only what sessions have on a worker that is %s', (_, more) => {
    const closed = metal(more)
    expect(bestOf(DEMAND, [freeCapacityOf(closed)])).toBeNull()
    expect(nodesOf(closed)).toEqual({ declared: 200, usable: 3, reserved: 3, closed_workers: 1 })
    expect(fleetCapacity([closed]).usable).toEqual(reserved)
  })

  it('is nothing on a worker whose capacity is unknown, which accepts no sessions', () => {
    const unknown = metal({ capacity: { declared: null, reserved: NOTHING_RESERVED } })
    expect(bestOf(DEMAND, [freeCapacityOf(unknown)])).toBeNull()
    expect(nodesOf(unknown)).toEqual({ declared: 0, usable: 0, reserved: 0, closed_workers: 1 })
  })

  it.each(['STOPPED', 'STARTING', 'FAILED', 'UNKNOWN', 'TERMINATED'] as const)('does not count %s workers', status => {
    expect(nodesOf(metal({ status }))).toEqual({ declared: 0, usable: 0, reserved: 0, closed_workers: 0 })
  })

  it('adds up without errors of decimal sums', () => {
    const { usable, reserved } = fleetCapacity([metal(), metal(), metal()])
    expect(reserved).toEqual({ cpu_cores: 9.9, memory_gb: 36, storage_gb: 0, nodes: 9 })
    expect(usable).toEqual({ cpu_cores: 144, memory_gb: 552, storage_gb: 450, nodes: 60 })
  })

  it('has no limit of storage where that is unknown, and claims none', () => {
    const found = metal({ capacity: { declared: { ...declared, storage_gb: null }, reserved } })
    const large = { ...DEMAND, needs: { ...DEMAND.needs, storage_gb: 5_000 } }
    expect(bestOf(large, [freeCapacityOf(metal())])).toBeNull()
    expect(bestOf(large, [freeCapacityOf(found)])?.worker).toBe(found)
    expect(fleetCapacity([found])).toMatchObject({ declared: { storage_gb: 0 }, usable: { storage_gb: 0, nodes: 20 } })
  })

  it('compares reserved storage only with storage whose size is known', () => {
    const held = { ...reserved, storage_gb: 50 }
    const found = metal({ capacity: { declared: { ...declared, storage_gb: null }, reserved: held } })
    const known = metal({ capacity: { declared, reserved: held } })
    const storageOf = (...workers: Worker[]) => {
      const { usable, reserved } = fleetCapacity(workers)
      return [reserved.storage_gb, usable.storage_gb]
    }
    expect(storageOf(found)).toEqual([0, 0])
    expect(storageOf(found, known)).toEqual([50, 150])
    // A worker without any capacity still counts what sessions have on it.
    expect(storageOf(metal({ capacity: { declared: null, reserved: held } }))).toEqual([50, 50])
  })

  it('is never less than what is reserved, after a license was lost', () => {
    const overfull = metal({ license: NO_LICENSE, capacity: { declared, reserved: { ...reserved, nodes: 18 } } })
    expect(nodesOf(overfull)).toEqual({ declared: 200, usable: 18, reserved: 18, closed_workers: 0 })
  })
})

const DEMAND = {
  span: ALWAYS,
  session_id: null,
  needs: { cpu_cores: 1, memory_gb: 1, storage_gb: 1, node_count: 1, nested_virtualization: false },
  node_definitions: [],
  cml_version: { min: null, max: null },
  license_affinity: [],
  ports: 0,
}
