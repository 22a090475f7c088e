import type { WorkerView } from '@lcm/contract/worker'
import { asView, aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { cpuOf, memoryOf, NAME_FIRST, nextSort, type Sort, sortOf, sortText, workerSorter } from './worker-sort.ts'

const nothing = { cpu: [], memory: [] }
const idle = (since: string | null) => ({ ...aWorker().activity, idle_since: since })
const fleet: WorkerView[] = [
  {
    ...asView(aWorker({ id: 'w-1', name: 'metal-10', activity: idle('2026-01-02T03:00:00.000Z') })),
    labs_count: 3,
  },
  {
    ...asView(aWorker({ id: 'w-2', name: 'Metal-9', status: 'FAILED', activity: idle('2026-01-02T01:00:00.000Z') })),
    labs_count: null,
  },
  { ...asView(aWorker({ id: 'w-3', name: 'metal-1', status: 'RUNNING' })), labs_count: 0 },
]
const measured = (status: WorkerView['status']): WorkerView => ({
  ...asView(aWorker({ status })),
  utilization: { cpu: 12, memory: 1, disk: 1, at: '2026-01-02T03:04:05.000Z' },
})
const namesBy = (sort: Sort, order = workerSorter(), workers = fleet) =>
  order.sorted(workers, sort, () => nothing).map(({ name }) => name)

it('sorts names in natural order', () => {
  expect(namesBy(NAME_FIRST)).toEqual(['metal-1', 'Metal-9', 'metal-10'])
  expect(namesBy({ by: 'name', isDescending: true })).toEqual(['metal-10', 'Metal-9', 'metal-1'])
})

it('puts unknown values last in both directions', () => {
  expect(namesBy({ by: 'labs', isDescending: false })).toEqual(['metal-1', 'metal-10', 'Metal-9'])
  expect(namesBy({ by: 'labs', isDescending: true })).toEqual(['metal-10', 'metal-1', 'Metal-9'])
})

it('puts the longest idle time first when descending', () => {
  expect(namesBy({ by: 'idle', isDescending: true })).toEqual(['Metal-9', 'metal-10', 'metal-1'])
})

it('sorts statuses in lifecycle order', () => {
  expect(namesBy({ by: 'status', isDescending: false })).toEqual(['metal-10', 'metal-1', 'Metal-9'])
})

it('stays correct when workers are added, removed and changed', () => {
  const order = workerSorter()
  namesBy(NAME_FIRST, order)
  const renamed = { ...asView(aWorker({ id: 'w-1', name: 'alpha', version: 2 })) }
  const later = [...fleet.filter(({ id }) => id === 'w-2'), renamed, asView(aWorker({ id: 'w-9', name: 'metal-2' }))]
  expect(namesBy(NAME_FIRST, order, later)).toEqual(['alpha', 'metal-2', 'Metal-9'])
  expect(namesBy(NAME_FIRST, order)).toEqual(['metal-1', 'Metal-9', 'metal-10'])
})

it('reads its own query, and falls back to the order of names', () => {
  expect(sortOf('-cpu')).toEqual({ by: 'cpu', isDescending: true })
  expect(sortOf('nonsense')).toEqual(NAME_FIRST)
  expect([sortText(NAME_FIRST), sortText({ by: 'name', isDescending: true })]).toEqual(['', '-name'])
})

it('sorts a column in its default direction first, then reverses it', () => {
  expect(nextSort(NAME_FIRST, 'name')).toEqual({ by: 'name', isDescending: true })
  expect(nextSort(NAME_FIRST, 'cpu')).toEqual({ by: 'cpu', isDescending: true })
  expect(nextSort({ by: 'cpu', isDescending: true }, 'cpu')).toEqual({ by: 'cpu', isDescending: false })
  expect(nextSort(NAME_FIRST, 'region')).toEqual({ by: 'region', isDescending: false })
})

it('uses the newest measurement', () => {
  const worker = measured('RUNNING')
  expect(cpuOf(worker, nothing)).toBe(12)
  expect(cpuOf(worker, { cpu: [10, 40], memory: [] })).toBe(40)
})

it('ignores measurements from before a machine stopped', () => {
  const before = { cpu: [10, 40], memory: [20, 50] }
  const statuses = ['STOPPING', 'STOPPED', 'FAILED', 'TERMINATED'] as const
  for (const worker of statuses.map(measured))
    expect([cpuOf(worker, before), memoryOf(worker, before), cpuOf(worker, nothing)]).toEqual([null, null, null])
})
