import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import type { Worker } from '@lcm/domain/worker/worker'
import { anAttempt, aTemplate, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { regionSnapshots } from './machine-list-cache.ts'
import { observe } from './observe.ts'
import { changeMachine, launch } from './perform.ts'
import { workerMemory } from './term-memory.ts'
import { aConfig, BOOTED_MS, never, OTHER_REGION, simulatedFleet } from './testing/simulated-cloud-and-api.ts'

/** The machines, and the regions of all calls. */
function noted(machines: BatchedCompute): { machines: BatchedCompute; regions: Set<string> } {
  const regions = new Set<string>()
  const note =
    <A extends readonly [string, ...unknown[]], R>(call: (...given: A) => R) =>
    (...given: A): R => {
      regions.add(given[0])
      return call(...given)
    }
  const { list, describeOne, newestImage, imageIds, launch: launching, powerOne: power, tag } = machines
  return {
    regions,
    machines: {
      list: note(list),
      describeOne: note(describeOne),
      newestImage: note(newestImage),
      imageIds: note(imageIds),
      launch: note(launching),
      powerOne: note(power),
      tag: note(tag),
    },
  }
}

const there = (more: Partial<Worker> = {}): Worker =>
  aWorker({ aws_region: OTHER_REGION, ec2_instance_id: 'i-1', launch: anAttempt(), ...more })

describe('a worker is observed in its own region and no other', () => {
  it.each<[string, Worker]>([
    ['at rest', there({ status: 'RUNNING', service_status: 'AVAILABLE' })],
    ['while it changes', there({ status: 'STOPPING' })],
    ['while its launch is open', there({ ec2_instance_id: null, launch: anAttempt({ state: 'open' }) })],
    ['before it is launched', there({ ec2_instance_id: null, launch: null })],
  ])('%s', async (_, worker) => {
    const fleet = await simulatedFleet()
    await fleet.plane.put('templates', aTemplate())
    const { machines, regions } = noted(fleet.machines)
    const config = aConfig()
    const snapshots = regionSnapshots({ ...fleet, machines, config })
    const probes = { latest: () => null, record: () => undefined }
    const memory = workerMemory(fleet.clock, config)
    const parts = { ...fleet, machines, config, snapshots, probes, memory }
    await observe(parts, worker, config.policy, never)
    expect([...regions]).toEqual([OTHER_REGION])
  })
})

describe('a worker is changed in its own region and no other', () => {
  it('from its launch to its end', async () => {
    const fleet = await simulatedFleet()
    const { machines, regions } = noted(fleet.machines)
    const open = there({ ec2_instance_id: null, launch: anAttempt({ state: 'open' }) })
    await launch(machines, open, null, never)
    expect([...regions]).toEqual([OTHER_REGION])
    const { instance_id } = await fleet.launch({ region: OTHER_REGION })
    await fleet.clock.advance(BOOTED_MS)
    const worker = there({ ec2_instance_id: instance_id })
    expect(await changeMachine(machines, worker, { kind: 'stop', force: false }, never)).toBe('stopping')
    await fleet.clock.advance(BOOTED_MS)
    expect(await changeMachine(machines, worker, { kind: 'start' }, never)).toBe('pending')
    expect(await changeMachine(machines, worker, { kind: 'terminate' }, never)).toBe('shutting-down')
    expect([...regions]).toEqual([OTHER_REGION])
  })
})
