import { aServingWorker, aTemplate } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import type { Demand } from '../session/demand.ts'
import type { Worker } from '../worker/worker.ts'
import { type Admission, admit, extensibleUntil, nearestStarts, type Seats } from './admission.ts'
import { type CapacityFacts, capacityOf } from './capacity.ts'
import {
  type Capacity,
  type CapacityProfile,
  changeCapacity,
  emptyProfile,
  enter,
  leave,
  settle,
} from './capacity-profile.ts'
import type { Use } from './promised-machine.ts'
import { ALWAYS } from './span.ts'

const HOUR_MS = 3_600_000
const NOW = toMs('2026-11-24T08:00:00.000Z')
const at = (hour: number) => NOW - 8 * HOUR_MS + hour * HOUR_MS
const between = (from: number, until: number) => ({ fromMs: at(from), untilMs: at(until) })

const demand = (cores: number, more: Partial<Demand> = {}): Demand => ({
  session_id: null,
  needs: { cpu_cores: cores, memory_gb: 4, storage_gb: 1, node_count: 1 },
  node_definitions: [],
  cml_version: { min: null, max: null },
  license_affinity: [],
  ports: 1,
  span: ALWAYS,
  ...more,
})
const QUARTER = demand(12)
const HALF = demand(24)

const facts = (more: Partial<CapacityFacts> = {}): CapacityFacts => ({
  workers: [],
  templates: [aTemplate({ license_product: 'CML_Enterprise' })],
  settings: { scale_up_enabled: true, max_workers_per_region: 1 },
  region: 'us-east-1',
  licenses: new Map(),
  nowMs: NOW,
  spending: null,
  ...more,
})
const profileOf = (more: Partial<CapacityFacts> = {}) => emptyProfile(capacityOf(facts(more)))
const seats = (count: number, of: Demand, from: number, until: number): Seats => ({
  demand: of,
  span: between(from, until),
  count,
})

let number = 0
const use = (id: string, of: Demand, [from, until]: [number, number], more: Partial<Use> = {}): Use => {
  number += 1
  return { id, demand: of, span: between(from, until), workerId: null, number, machine: null, ...more }
}
const settled = (profile: CapacityProfile) => {
  for (const _ of settle(profile));
}
const change = (profile: CapacityProfile, capacity: Capacity) => {
  for (const _ of changeCapacity(profile, capacity));
}
const search = (profile: CapacityProfile, wanted: Seats, isAllowed: (ms: number) => boolean = () => true) => {
  const steps = nearestStarts(profile, wanted, { nowMs: NOW, startMs: wanted.span.fromMs, isAllowed })
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}
const refusal = (admission: Admission) =>
  admission.kind === 'refused' ? { free: admission.free, code: admission.because.code } : 'admitted'
const worker = (id: string, more: Partial<Worker> = {}): Worker =>
  aServingWorker({
    id,
    name: id,
    capacity: {
      declared: { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 200 },
      reserved: { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 },
    },
    ...more,
  })

describe('seats', () => {
  it('are admitted on a machine that is not bought yet', () => {
    expect(admit(profileOf(), [seats(4, QUARTER, 10, 12)])).toEqual({
      kind: 'admitted',
      machines: [['new-1', 'new-1', 'new-1', 'new-1']],
    })
  })

  it('are admitted all or none, with how many would fit', () => {
    expect(refusal(admit(profileOf(), [seats(5, QUARTER, 10, 12)]))).toEqual({ free: 4, code: 'capacity_booked' })
  })

  it('take only the capacity of their time', () => {
    const profile = profileOf()
    for (const id of ['a', 'b', 'c']) enter(profile, use(id, QUARTER, [10, 12]))
    expect(refusal(admit(profile, [seats(4, QUARTER, 12, 14)]))).toBe('admitted')
    expect(refusal(admit(profile, [seats(2, QUARTER, 11, 13)]))).toEqual({ free: 1, code: 'capacity_booked' })
  })

  it('of several times are admitted together, beside each other where they overlap', () => {
    const groups = [seats(3, QUARTER, 10, 12), seats(2, QUARTER, 11, 13)]
    const profile = profileOf()
    expect(admit(profile, groups)).toMatchObject({ kind: 'refused', index: 1, free: 1 })
    expect(profile.uses.size).toBe(0)
    expect(refusal(admit(profile, [seats(3, QUARTER, 10, 12), seats(2, QUARTER, 12, 13)]))).toBe('admitted')
  })

  it('fit on existing workers before anything is bought', () => {
    const profile = profileOf({
      workers: [worker('w-1')],
      settings: { scale_up_enabled: true, max_workers_per_region: 2 },
    })
    expect(admit(profile, [seats(3, HALF, 10, 12)])).toMatchObject({ machines: [['w-1', 'w-1', 'new-1']] })
  })

  it('need no boot in time: a stopped worker counts as one that serves', () => {
    const stopped = worker('w-1', {
      status: 'STOPPED',
      desired_status: 'STOPPED',
      pause: { ...worker('w').pause, reason: 'idle' as never },
    })
    expect(refusal(admit(profileOf({ workers: [stopped] }), [seats(2, HALF, 8, 10)]))).toBe('admitted')
  })
})

describe('a refusal names what is short', () => {
  const full = (more: Partial<CapacityFacts>, count = 20) =>
    refusal(admit(profileOf(more), [seats(count, QUARTER, 10, 12)]))

  it('the limit of workers', () => {
    expect(full({})).toEqual({ free: 4, code: 'capacity_booked' })
  })

  it('scale-up that is off', () => {
    const settings = { scale_up_enabled: false, max_workers_per_region: 10 }
    expect(full({ settings, workers: [worker('w-1')] })).toEqual({ free: 4, code: 'capacity_booked_no_scale_up' })
  })

  it('templates that are disabled', () => {
    const templates = [aTemplate({ enabled: false })]
    expect(full({ templates, workers: [worker('w-1')] })).toEqual({ free: 4, code: 'capacity_booked_no_template' })
  })

  it('a license that includes too few nodes', () => {
    const threeNodes = demand(1, { needs: { cpu_cores: 1, memory_gb: 1, storage_gb: 1, node_count: 3 } })
    const unlicensed = profileOf({ templates: [aTemplate()] })
    expect(admit(unlicensed, [seats(20, threeNodes, 10, 12)])).toMatchObject({
      free: 1,
      because: { code: 'capacity_booked_license', params: { node_limit: 5, license: null } },
    })
  })

  it('a lab that no machine can run', () => {
    expect(full({}, 1)).toBe('admitted')
    expect(refusal(admit(profileOf(), [seats(1, demand(100), 10, 12)]))).toEqual({ free: 0, code: 'lab_fits_nowhere' })
  })

  it('promises that lost their capacity', () => {
    const profile = profileOf()
    for (const id of ['a', 'b', 'c']) enter(profile, use(id, HALF, [10, 12]))
    settled(profile)
    expect(profile.unplaced.size).toBe(1)
    expect(refusal(admit(profile, [seats(1, demand(1), 11, 13)]))).toEqual({ free: 0, code: 'promises_come_first' })
    expect(refusal(admit(profile, [seats(1, demand(1), 12, 13)]))).toBe('admitted')
  })
})

describe('licenses of the pool', () => {
  it('limit how many machines are bought with a license', () => {
    const nine = demand(1, { needs: { cpu_cores: 1, memory_gb: 1, storage_gb: 1, node_count: 9 } })
    const settings = { scale_up_enabled: true, max_workers_per_region: 3 }
    const profile = profileOf({ settings, licenses: new Map([['CML_Enterprise', 2]]) })
    expect(admit(profile, [seats(9, nine, 10, 12)])).toMatchObject({ kind: 'refused', free: 4 })
    expect(refusal(admit(profileOf({ settings }), [seats(6, nine, 10, 12)]))).toBe('admitted')
  })

  it('limit small labs too: no machine is bought without a license, and the refusal says so', () => {
    const two = demand(1, { needs: { cpu_cores: 1, memory_gb: 1, storage_gb: 1, node_count: 2 } })
    const settings = { scale_up_enabled: true, max_workers_per_region: 3 }
    const profile = profileOf({ settings, licenses: new Map([['CML_Enterprise', 1]]) })
    const admission = admit(profile, [seats(11, two, 10, 12)])
    expect(admission).toMatchObject({ kind: 'refused', free: 10 })
    expect(refusal(admission)).toMatchObject({ code: 'capacity_booked_no_seat' })
    expect(refusal(admit(profile, [seats(10, two, 10, 12)]))).toBe('admitted')
  })
})

describe('the nearest starts', () => {
  it('are quarter hours before and after', () => {
    const profile = profileOf()
    for (const id of ['a', 'b']) enter(profile, use(id, HALF, [10, 12]))
    expect(search(profile, seats(1, HALF, 11, 12.5))).toEqual([toInstant(at(8.5)), toInstant(at(12))])
  })

  it('are never in the past, and obey other rules', () => {
    const profile = profileOf()
    for (const id of ['a', 'b']) enter(profile, use(id, HALF, [8, 10]))
    expect(search(profile, seats(1, HALF, 9, 10))).toEqual([toInstant(at(10))])
    expect(search(profile, seats(1, HALF, 9, 10), ms => ms >= at(11))).toEqual([toInstant(at(11))])
  })

  it('end after a week, and at once where nothing can run the lab', () => {
    const profile = profileOf()
    for (const id of ['a', 'b']) enter(profile, use(id, HALF, [8, 24 * 30]))
    expect(search(profile, seats(1, HALF, 9, 10))).toEqual([])
    expect(search(profileOf(), seats(1, demand(100), 9, 10))).toEqual([])
  })
})

describe('an extension', () => {
  const onWorker = () => {
    const profile = profileOf({
      workers: [worker('w-1')],
      settings: { scale_up_enabled: false, max_workers_per_region: 1 },
    })
    enter(profile, use('running', HALF, [8, 10], { workerId: 'w-1' }))
    return profile
  }

  it('of a session that is not assigned needs capacity anywhere', () => {
    const profile = profileOf()
    enter(profile, use('a', HALF, [10, 12]))
    expect(extensibleUntil(profile, 'a', at(13))).toBe(at(13))
    for (const id of ['b', 'c']) enter(profile, use(id, HALF, [12.5, 14]))
    expect(extensibleUntil(profile, 'a', at(13))).toBe(at(12.5))
    expect(profile.places.get('a')?.offer.key).toBe('new-1')
  })

  it('of a session on a worker ends where promises need the worker', () => {
    const profile = onWorker()
    for (const id of ['b', 'c']) enter(profile, use(id, HALF, [10.5, 14]))
    expect(extensibleUntil(profile, 'running', at(12))).toBe(at(10.5))
    expect([...profile.unplaced]).toEqual([])
  })

  it('moves promises to another machine that keeps them', () => {
    const profile = onWorker()
    for (const id of ['b', 'c']) enter(profile, use(id, HALF, [10.5, 14]))
    const settings = { scale_up_enabled: true, max_workers_per_region: 2 }
    change(profile, capacityOf(facts({ workers: [worker('w-1')], settings })))
    expect(extensibleUntil(profile, 'running', at(12))).toBe(at(12))
    expect(profile.places.get('c')?.offer.key).toBe('w-1')
    enter(profile, use('running', HALF, [8, 12], { workerId: 'w-1' }))
    expect([profile.places.get('b')?.offer.key, profile.places.get('c')?.offer.key]).toEqual(['w-1', 'new-1'])
  })

  it('of what is not in the calendar is free', () => {
    expect(extensibleUntil(profileOf(), 'nothing', at(9))).toBe(at(9))
    const profile = profileOf()
    enter(profile, use('elsewhere', HALF, [8, 10], { workerId: 'w-cordoned' }))
    expect(extensibleUntil(profile, 'elsewhere', at(12))).toBe(at(12))
  })
})

describe('when capacity changes', () => {
  it('a purchased worker keeps what was promised before it was there', () => {
    const settings = { scale_up_enabled: true, max_workers_per_region: 1 }
    const profile = profileOf({ settings })
    for (const id of ['a', 'b']) enter(profile, use(id, HALF, [10, 12]))
    change(profile, capacityOf(facts({ settings, workers: [worker('w-1')] })))
    expect([...profile.places.values()].map(({ offer }) => offer.key)).toEqual(['w-1', 'w-1'])
    expect(profile.unplaced.size).toBe(0)
  })

  it('the latest promises lose theirs, and get it back first', () => {
    const profile = profileOf({
      workers: [worker('w-1')],
      settings: { scale_up_enabled: true, max_workers_per_region: 2 },
    })
    for (const id of ['a', 'b', 'c']) enter(profile, use(id, HALF, [10, 12]))
    const settings = { scale_up_enabled: true, max_workers_per_region: 1 }
    change(profile, capacityOf(facts({ workers: [worker('w-1')], settings })))
    settled(profile)
    expect([...profile.unplaced.keys()]).toEqual(['c'])
    leave(profile, 'a')
    settled(profile)
    expect([...profile.unplaced.keys()]).toEqual([])
  })

  it('a cordoned worker serves what it has, and nothing else is promised on it', () => {
    const profile = profileOf({
      workers: [worker('w-1')],
      settings: { scale_up_enabled: false, max_workers_per_region: 1 },
    })
    enter(profile, use('running', HALF, [8, 10], { workerId: 'w-1' }))
    enter(profile, use('later', HALF, [11, 12]))
    const settings = { scale_up_enabled: false, max_workers_per_region: 1 }
    change(profile, capacityOf(facts({ settings, workers: [worker('w-1', { cordoned: true })] })))
    expect([...profile.unplaced.keys()]).toEqual(['later'])
    change(profile, capacityOf(facts({ settings, workers: [worker('w-1')] })))
    settled(profile)
    expect([...profile.places.keys()].toSorted()).toEqual(['later', 'running'])
  })

  it('a machine to buy becomes the smallest template that holds its promises', () => {
    const small = aTemplate({
      id: 'wt-2',
      name: 'small',
      cost_per_hour_usd: 1,
      capacity: { cpu_cores: 16, memory_gb: 64, storage_gb: 200, max_nodes: 200 },
    })
    const templates = [small, aTemplate()]
    const profile = profileOf({ templates })
    enter(profile, use('a', QUARTER, [10, 12]))
    expect(refusal(admit(profile, [seats(3, QUARTER, 10, 12)]))).toBe('admitted')
    enter(profile, use('b', QUARTER, [10, 12]))
    change(profile, capacityOf(facts({ templates: [small] })))
    settled(profile)
    expect([...profile.unplaced.keys()]).toEqual(['b'])
  })

  it('a session on a worker displaces the latest promise there', () => {
    const profile = profileOf({
      workers: [worker('w-1')],
      settings: { scale_up_enabled: true, max_workers_per_region: 2 },
    })
    for (const id of ['a', 'b', 'c']) enter(profile, use(id, HALF, [10, 12]))
    expect(profile.places.get('c')?.offer.key).toBe('new-1')
    enter(profile, { ...(profile.uses.get('c') as Use), workerId: 'w-1' })
    expect(profile.places.get('b')?.offer.key).toBe('new-1')
    expect(profile.unplaced.size).toBe(0)
  })

  it('best effort takes nothing until it is on a worker', () => {
    const profile = profileOf({
      workers: [worker('w-1')],
      settings: { scale_up_enabled: false, max_workers_per_region: 1 },
    })
    for (const id of ['a', 'b']) enter(profile, use(id, HALF, [10, 12], { number: null }))
    expect(refusal(admit(profile, [seats(2, HALF, 10, 12)]))).toBe('admitted')
    enter(profile, use('a', HALF, [10, 12], { number: null, workerId: 'w-1' }))
    expect(refusal(admit(profile, [seats(2, HALF, 10, 12)]))).toEqual({ free: 1, code: 'capacity_booked_no_scale_up' })
  })

  it('places promises again in another order if first fit left one without capacity', () => {
    const settings = { scale_up_enabled: false, max_workers_per_region: 2 }
    const profile = profileOf({ workers: [worker('w-1'), worker('w-2')], settings })
    enter(profile, use('a', QUARTER, [10, 12]))
    enter(profile, use('b', HALF, [11, 13], { machine: 'w-2' }))
    enter(profile, use('c', demand(36), [10, 13]))
    expect([...profile.unplaced.keys()]).toEqual([])
    enter(profile, use('d', HALF, [10, 12]))
    expect([...profile.unplaced.keys()]).toEqual([])
    leave(profile, 'a')
    enter(profile, use('e', demand(12), [12, 13], { machine: 'w-2' }))
    enter(profile, use('f', demand(12), [10, 13], { machine: 'w-2' }))
    settled(profile)
    expect([...profile.unplaced.keys()]).toEqual([])
  })
})
