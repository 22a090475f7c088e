import { toMs } from '@lcm/domain/instant'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { spentText } from './worker-cost.tsx'

it.each([
  [4, 1, '$5.00 so far'],
  [null, 0, 'unknown cost so far'],
  [null, 1, 'more than $1.00 so far'],
])('of a worker with the price %j that cost %j before: %s', (cost_per_hour_usd, closed_usd, text) => {
  const since = '2026-01-01T00:00:00.000Z'
  const billing = { since, cause: 'idle', closed_usd } as const
  const worker = aWorker({ status: 'RUNNING', ec2_instance_id: 'i-1', cost_per_hour_usd, billing })
  expect(spentText(worker, toMs(since) + 3_600_000)).toBe(text)
})
