import { aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { parseHash } from '../../../state/router.ts'
import {
  choicesOf,
  filterOf,
  isFiltering,
  matcherOf,
  NO_FILTER,
  type WorkerFilter,
  workersHash,
} from './worker-filter.ts'

const readBack = (hash: string) => {
  const route = parseHash(hash)
  return 'query' in route ? filterOf(route.query) : null
}

it('keeps a filter through a round trip', () => {
  const filter: WorkerFilter = {
    statuses: ['RUNNING', 'FAILED'],
    text: 'a&b=c #1',
    health: 'DOWN',
    region: 'eu-west-1',
    template: 'metal',
    sort: { by: 'cpu', isDescending: true },
  }
  expect(readBack(workersHash(filter))).toEqual(filter)
  expect(readBack(workersHash(NO_FILTER))).toEqual(NO_FILTER)
  expect(workersHash(NO_FILTER)).toBe('#/workers')
})

it('drops statuses and orders that do not exist', () => {
  expect(filterOf({ status: 'FAILED,NONSENSE', sort: 'color' })).toEqual({ ...NO_FILTER, statuses: ['FAILED'] })
})

const fleet = [
  aWorker({ id: 'w-1', name: 'metal-10', status: 'RUNNING', public_ip: '54.0.0.7' }),
  aWorker({ id: 'w-2', name: 'Metal-9', status: 'STARTING', aws_region: 'eu-west-1', ec2_instance_id: 'i-0abc' }),
  aWorker({ id: 'w-3', name: 'metal-1', status: 'STOPPED', template_name: 'small' }),
  aWorker({ id: 'w-4', name: 'gone', status: 'TERMINATED' }),
]
const shown = (filter: Partial<WorkerFilter>) =>
  fleet.filter(matcherOf({ ...NO_FILTER, ...filter })).map(({ id }) => id)

it('hides terminated workers unless selected', () => {
  expect(shown({})).toEqual(['w-1', 'w-2', 'w-3'])
  expect(shown({ statuses: ['TERMINATED', 'STOPPED'] })).toEqual(['w-3', 'w-4'])
})

it('finds by name, id, machine and address', () => {
  expect(shown({ text: ' METAL-1' })).toEqual(['w-1', 'w-3'])
  expect(shown({ text: 'w-2' })).toEqual(['w-2'])
  expect(shown({ text: 'i-0ab' })).toEqual(['w-2'])
  expect(shown({ text: '54.0' })).toEqual(['w-1'])
})

it('narrows to a region and a template', () => {
  expect(shown({ region: 'eu-west-1' })).toEqual(['w-2'])
  expect(shown({ template: 'small', region: 'us-east-1' })).toEqual(['w-3'])
})

it('narrows to a health', () => {
  expect(shown({ health: 'DOWN' })).toEqual(['w-1'])
  expect(shown({ health: 'OK' })).toEqual(['w-2'])
})

it('offers existing values and the selected one', () => {
  expect(choicesOf(['b', 'a', 'b'], '')).toEqual(['a', 'b'])
  expect(choicesOf(['b'], 'gone')).toEqual(['b', 'gone'])
})

it('knows whether anything is filtered at all', () => {
  const filters = [NO_FILTER, { ...NO_FILTER, text: ' ' }, { ...NO_FILTER, region: 'eu-west-1' }]
  expect(filters.map(isFiltering)).toEqual([false, false, true])
})
