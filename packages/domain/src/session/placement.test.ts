import { aDefinition, aServingWorker } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withoutReservation, withReservation } from '../calendar/worker-ledger.ts'
import { type Reason, reason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { WORKER_STATUSES } from '../worker/worker.ts'
import { type Demand, demandOf } from './demand.ts'
import { freeCapacityOf, nodesMax } from './free-capacity.ts'
import { bestOf, compareVersions, place, type RefusalCategory } from './placement.ts'

const NOW = '2026-01-02T03:04:05.000Z'
const demand = (more: Partial<Demand> = {}): Demand => ({ ...demandOf(aDefinition(), 'ls-1'), ...more })
const needing = (more: Partial<Demand['needs']>) => demand({ needs: { ...aDefinition().needs, ...more } })
const worker = aServingWorker()
const license = (product: string | null, status: Worker['license']['status']) => ({
  ...worker.license,
  product,
  status,
})
/** An unknown product has no known limit. */
const UNLIMITED = { license: license('CML_Unheard', 'REGISTERED') }
const cml = (version: string | null, node_definitions: string[] = []) => ({ ...worker.cml, version, node_definitions })
const portsUsed = (count: number) => ({
  lab: Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, n])),
})

const DRAIN: Worker['drain'] = {
  requested_at: NOW,
  by: 'ann',
  reason: '',
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: 'STOPPED',
  deadline: NOW,
}

const NOT_APPROVED: Partial<Worker> = { ec2_instance_id: 'i-1', launch: null }
const short = (resource: 'memory_gb' | 'cpu_cores' | 'storage_gb' | 'nodes', needed: number, free: number) =>
  reason('insufficient_capacity', { workers: 1, resource, needed, free, node_limit: null, license: null })

describe('a worker is refused', () => {
  it.each<[RefusalCategory, Reason, Partial<Worker>, Demand]>([
    ['status', reason('worker_status', { worker: null, status: 'STOPPED' }), { status: 'STOPPED' }, demand()],
    ['status', reason('worker_status', { worker: null, status: 'DRAINING' }), { status: 'DRAINING' }, demand()],
    ['status', reason('cml_status', { status: 'STARTING' }), { service_status: 'STARTING' }, demand()],
    [
      'status',
      reason('worker_desired_status', { worker: null, desired_status: 'STOPPED' }),
      { desired_status: 'STOPPED' },
      demand(),
    ],
    ['status', reason('worker_draining', { by: 'ann' }), { drain: DRAIN }, demand()],
    ['status', reason('approval_required', { worker_id: worker.id }), NOT_APPROVED, demand()],
    ['status', reason('worker_cordoned'), { cordoned: true }, demand()],
    [
      'license',
      reason('license_mismatch', { registered: true, license: 'CML_Enterprise', needed: ['CML_Personal'] }),
      {},
      demand({ license_affinity: ['CML_Personal'] }),
    ],
    [
      'license',
      reason('license_mismatch', {
        registered: false,
        license: null,
        needed: ['CML_Enterprise', 'CML_Education'],
      }),
      { license: license('CML_Enterprise', 'REGISTERING') },
      demand({ license_affinity: ['CML_Enterprise', 'CML_Education'] }),
    ],
    ['capacity', reason('capacity_unknown'), { capacity: { ...worker.capacity, declared: null } }, demand()],
    ['capacity', short('memory_gb', 192.5, 192), {}, needing({ memory_gb: 192.5 })],
    ['capacity', short('cpu_cores', 49, 48), {}, needing({ cpu_cores: 49 })],
    ['capacity', short('storage_gb', 1001, 1000), {}, needing({ storage_gb: 1001 })],
    ['capacity', short('nodes', 201, 200), UNLIMITED, needing({ node_count: 201 })],
    [
      'capacity',
      reason('insufficient_capacity', {
        workers: 1,
        resource: 'nodes',
        needed: 6,
        free: 5,
        node_limit: 5,
        license: null,
      }),
      { license: license('CML_Enterprise', 'REGISTERING') },
      needing({ node_count: 6 }),
    ],
    [
      'capacity',
      reason('insufficient_capacity', {
        workers: 1,
        resource: 'nodes',
        needed: 21,
        free: 20,
        node_limit: 20,
        license: 'CML_Personal',
      }),
      { license: license('CML_Personal', 'REGISTERED') },
      needing({ node_count: 21 }),
    ],
    [
      'cml_version',
      reason('cml_version_too_old', { version: '2.9.0', min: '2.10' }),
      {},
      demand({ cml_version: { min: '2.10', max: null } }),
    ],
    [
      'cml_version',
      reason('cml_version_too_new', { version: '2.10.0', max: '2.9' }),
      { cml: cml('2.10.0') },
      demand({ cml_version: { min: null, max: '2.9' } }),
    ],
    [
      'cml_version',
      reason('cml_version_unknown'),
      { cml: cml(null) },
      demand({ cml_version: { min: '2.0', max: null } }),
    ],
    [
      'node_definitions',
      reason('node_definitions_missing', { missing: ['asav', 'iosv'] }),
      { cml: cml('2.9.0', ['alpine']) },
      demand({ node_definitions: ['alpine', 'asav', 'iosv'] }),
    ],
    [
      'node_definitions',
      reason('node_definitions_unknown'),
      { cml: cml('2.9.0', []) },
      demand({ node_definitions: ['external_connector', 'iosv'] }),
    ],
    ['ports', reason('insufficient_ports', { needed: 2, free: 1 }), { ports: portsUsed(5999) }, demand({ ports: 2 })],
  ])('for its %s: $1.code', (category, because, more, wanted) => {
    expect(place(wanted, [{ ...worker, ...more }])).toEqual({
      candidates: [],
      refusals: [{ worker_id: 'w-1', category, because }],
    })
  })

  it('by the first filter that it does not pass', () => {
    const wanted = {
      ...needing({ memory_gb: 999 }),
      license_affinity: ['x'],
      cml_version: { min: '9.9', max: null },
      ports: 9e9,
    }
    const broken = { ...worker, cordoned: true }
    const category = (each: Worker, asked: Demand) => place(asked, [each]).refusals[0]?.category
    expect(category(broken, wanted)).toBe('status')
    expect(category(worker, wanted)).toBe('license')
    expect(category(worker, { ...wanted, license_affinity: [] })).toBe('capacity')
    expect(category(worker, { ...wanted, license_affinity: [], needs: demand().needs })).toBe('cml_version')
    expect(category(worker, { ...demand(), ports: 9e9 })).toBe('ports')
  })

  it('in every status but RUNNING', () => {
    const taken = WORKER_STATUSES.filter(status => place(demand(), [{ ...worker, status }]).candidates.length > 0)
    expect(taken).toEqual(['RUNNING'])
  })
})

describe('a worker is accepted', () => {
  it.each<[string, Partial<Worker>, Demand]>([
    [
      'that is just large enough',
      UNLIMITED,
      needing({ memory_gb: 192, cpu_cores: 48, storage_gb: 1000, node_count: 200 }),
    ],
    ['that has one of the licenses', {}, demand({ license_affinity: ['CML_Personal', 'CML_Enterprise'] })],
    ['that has a version between', { cml: cml('2.9.1+build.7') }, demand({ cml_version: { min: '2.9', max: '2.9' } })],
    [
      'without known node definitions, if only built-in ones are needed',
      {},
      demand({ node_definitions: ['unmanaged_switch'] }),
    ],
    ['that has all node definitions', { cml: cml('2.9.0', ['iosv', 'asav']) }, demand({ node_definitions: ['iosv'] })],
    ['with just enough ports', { ports: portsUsed(5998) }, demand({ ports: 2 })],
    ['of an unknown version, if none is needed', { cml: cml(null) }, demand()],
  ])('%s', (_, more, wanted) => {
    expect(place(wanted, [{ ...worker, ...more }]).refusals).toEqual([])
  })
})

it.each([
  ['2.10', '2.9', 1],
  ['2.9', '2.10', -1],
  ['2.9.1', '2.9', 0],
  ['2.9.0+build.12', '2.9', 0],
  ['2.9', '2.9.1', -1],
  ['10.0', '9.9', 1],
  ['2.7.2', '2.7.10', -1],
  ['nonsense', '0.1', -1],
])('D-12: versions are numbers: %s against %s', (version, bound, sign) => {
  expect(Math.sign(compareVersions(version, bound))).toBe(sign)
})

it.each<[Worker['license']['status'], string | null, number]>([
  ['UNREGISTERED', null, 5],
  ['UNREGISTERED', 'CML_Enterprise', 5],
  ['REGISTERING', 'CML_Personal', 5],
  ['REGISTERED', 'CML_Personal', 20],
  ['REGISTERED', 'CML_Personal40', 40],
  ['REGISTERED', 'CML_Enterprise', 20],
  ['REGISTERED', null, 200],
])('D-13: with the license %s %s run %s nodes', (status, product, nodes) => {
  const licensed = { ...worker, license: license(product, status) }
  expect(nodesMax(licensed)).toBe(nodes)
  expect(place(needing({ node_count: nodes }), [licensed]).candidates).toHaveLength(1)
  expect(place(needing({ node_count: nodes + 1 }), [licensed]).candidates).toHaveLength(0)
})

it('uses the declared nodes when the license allows more', () => {
  const small = { cpu_cores: 4, memory_gb: 8, storage_gb: 50, max_nodes: 3 }
  expect(nodesMax({ ...worker, capacity: { ...worker.capacity, declared: small } })).toBe(3)
})

describe('the best', () => {
  const loaded = (id: string, ...loads: [cpu: number, memory: number][]) =>
    loads.reduce(
      (each, [cpu_cores, memory_gb], n) =>
        withReservation(each, `${id}-${n}`, { cpu_cores, memory_gb, storage_gb: 0, node_count: 1 }, NOW),
      aServingWorker({ id, name: id }),
    )
  const ranked = (...workers: Worker[]) => place(demand(), workers).candidates.map(({ worker_id }) => worker_id)

  it('is the fullest', () => {
    expect(ranked(loaded('a'), loaded('b', [24, 96]), loaded('c', [12, 48]))).toEqual(['b', 'c', 'a'])
  })

  it('is the one with more sessions among those that are equally full', () => {
    expect(ranked(loaded('a', [4, 16]), loaded('b', [2, 8], [2, 8]))).toEqual(['b', 'a'])
  })

  it('counts at most five sessions', () => {
    const six = loaded('b', ...Array.from({ length: 6 }, (): [number, number] => [1, 4]))
    expect(place(demand(), [six]).candidates[0]?.score).toBeCloseTo((6 / 48 + 24 / 192) / 2 + 0.05, 10)
  })

  it('is the first by id among equals, in any input order', () => {
    expect(ranked(loaded('b'), loaded('c'), loaded('a'))).toEqual(['a', 'b', 'c'])
  })

  it('is shown with its use before and after', () => {
    expect(place(demand(), [loaded('a', [12, 48])]).candidates).toEqual([
      {
        worker_id: 'a',
        score: 0.26,
        before: { cpu: 0.25, memory: 0.25 },
        after: { cpu: 14 / 48, memory: 52 / 192 },
      },
    ])
  })

  it('is the same whether all are ranked or only the first is chosen', () => {
    const load = fc.tuple(fc.integer({ min: 0, max: 48 }), fc.integer({ min: 0, max: 192 }))
    fc.assert(
      fc.property(fc.array(fc.array(load, { maxLength: 3 }), { maxLength: 8 }), loads => {
        const workers = loads.map((each, n) => loaded(`w${n}`, ...each))
        const best = bestOf(
          demand(),
          workers.map(worker => freeCapacityOf(worker)),
        )
        expect(best?.worker.id).toBe(ranked(...workers)[0])
      }),
    )
  })
})

describe('the ledger', () => {
  it('reserves and releases the same amount, whatever the definition has by then (D-3)', () => {
    const once = withReservation(worker, 'a', { cpu_cores: 2, memory_gb: 4, storage_gb: 10, node_count: 2 }, NOW)
    const twice = withReservation(once, 'b', { cpu_cores: 1, memory_gb: 0.5, storage_gb: 1, node_count: 1 }, NOW)
    expect(twice.capacity.reserved).toEqual({ cpu_cores: 3, memory_gb: 4.5, storage_gb: 11, nodes: 3 })
    expect(withoutReservation(twice, 'b')).toEqual(once)
    expect(withoutReservation(once, 'a')).toEqual(worker)
  })

  it('holds a session once, however often it is reserved or released', () => {
    const once = withReservation(worker, 'a', demand().needs, NOW)
    expect(withReservation(once, 'a', demand().needs, NOW)).toEqual(once)
    expect(withoutReservation(worker, 'a')).toEqual(worker)
  })

  it('corrects a wrong sum', () => {
    const wrong = {
      ...worker,
      capacity: { ...worker.capacity, reserved: { cpu_cores: 9, memory_gb: 9, storage_gb: 9, nodes: 9 } },
    }
    expect(withoutReservation(wrong, 'a').capacity.reserved.memory_gb).toBe(0)
  })

  it('is not affected by rounding errors of decimal sums', () => {
    const tenths = Array.from({ length: 10 }, (_, n) => n).reduce(
      each =>
        withReservation(each, `s${Object.keys(each.reservations).length}`, { ...demand().needs, memory_gb: 0.1 }, NOW),
      aServingWorker({
        ...UNLIMITED,
        capacity: { ...worker.capacity, declared: { cpu_cores: 48, memory_gb: 1.3, storage_gb: 1000, max_nodes: 200 } },
      }),
    )
    expect(tenths.capacity.reserved.memory_gb).toBe(1)
    expect(place(needing({ memory_gb: 0.3 }), [tenths]).candidates).toHaveLength(1)
    expect(place(needing({ memory_gb: 0.31 }), [tenths]).candidates).toHaveLength(0)
  })
})
