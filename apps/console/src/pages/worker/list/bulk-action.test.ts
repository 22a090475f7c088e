import { aServingWorker, aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { type BulkOutcome, bulkPlan, runBulk } from './bulk-action.ts'

const running = aServingWorker({ id: 'w-1', desired_status: 'RUNNING' })
const stopped = aWorker({ id: 'w-2', status: 'STOPPED', desired_status: 'STOPPED' })
const kept = aServingWorker({ id: 'w-3', desired_status: 'RUNNING', protected: true })
const gone = aWorker({ id: 'w-4', status: 'TERMINATED', desired_status: 'TERMINATED' })
const fleet = [running, stopped, kept, gone]
const ids = (workers: readonly { id: string }[]) => workers.map(({ id }) => id)

it('plans suitable workers and gives reasons for the others', () => {
  expect(ids(bulkPlan(fleet, 'start').targets)).toEqual(['w-2'])
  expect(ids(bulkPlan(fleet, 'stop').targets)).toEqual(['w-1', 'w-3'])
  const { targets, skipped: leftOut } = bulkPlan(fleet, 'terminate')
  expect(ids(targets)).toEqual(['w-1', 'w-2'])
  expect(leftOut.map(({ worker, because }) => [worker.id, because])).toEqual([
    ['w-3', 'The worker is protected: remove the protection first'],
    ['w-4', 'Already terminated'],
  ])
  expect(bulkPlan([stopped], 'drain').skipped[0]?.because).toBe(
    'Only RUNNING workers can be drained, and this one is STOPPED',
  )
})

it('sends a few requests at a time and reports each outcome', async () => {
  const many = Array.from({ length: 20 }, (_, n) => aWorker({ id: `w-${n}` }))
  const outcomes = new Map<string, BulkOutcome>()
  let [now, most] = [0, 0]
  await runBulk(
    many,
    async ({ id }) => {
      now += 1
      most = Math.max(most, now)
      await Promise.resolve()
      now -= 1
      return id === 'w-7' ? { refused: 'no' } : 'accepted'
    },
    (worker, outcome) => outcomes.set(worker.id, outcome),
  )
  expect(outcomes.size).toBe(20)
  expect(outcomes.get('w-7')).toEqual({ refused: 'no' })
  expect(most).toBeLessThanOrEqual(6)
  expect(most).toBeGreaterThan(1)
})
