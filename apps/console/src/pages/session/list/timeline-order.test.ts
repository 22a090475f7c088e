import { aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { orderedRows } from './timeline-order.ts'

const row = (workerId: string | null) => ({ workerId, bars: [], lanes: 1, hidden: 0 })
const fleet = (count: number) =>
  new Map(Array.from({ length: count }, (_, n) => [`w-${n}`, aWorker({ id: `w-${n}`, name: `metal-${n}` })] as const))
const ids = (shown: readonly { workerId: string | null }[]) => shown.map(({ workerId }) => workerId)

it('lists waiting sessions first, then all workers by name', () => {
  const { shown, more } = orderedRows([row('w-10'), row(null)], fleet(11), false)
  expect(ids(shown)).toEqual([null, ...Array.from({ length: 11 }, (_, n) => `w-${n}`)])
  expect(more).toBe(0)
})

it('leaves out terminated workers, and free ones with a filter', () => {
  expect(ids(orderedRows([row(null), row('w-2')], fleet(3), true).shown)).toEqual([null, 'w-2'])
  const gone = new Map([['w-1', aWorker({ id: 'w-1', status: 'TERMINATED' })]])
  expect(ids(orderedRows([row(null)], gone, false).shown)).toEqual([null])
  expect(ids(orderedRows([row(null), row('w-1')], gone, false).shown)).toEqual([null, 'w-1'])
})

it('counts free workers that are too many to show', () => {
  const { shown, more } = orderedRows([row(null)], fleet(1000), false)
  expect([shown.length, more]).toEqual([200, 801])
})
