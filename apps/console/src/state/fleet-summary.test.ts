import { toMs } from '@lcm/domain/instant'
import { costCauseOf, costOf } from '@lcm/domain/worker/cost'
import { CONDITION, type Worker } from '@lcm/domain/worker/worker'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { isSpending, spentUsd, summaryOf } from './fleet-summary.ts'

describe('the fleet', () => {
  const since = '2026-01-02T03:00:00.000Z'
  const billed = (more: Partial<Worker>): Worker => {
    const worker = aWorker({ ec2_instance_id: 'i-1', cost_per_hour_usd: 4, ...more })
    return { ...worker, billing: { since, cause: costCauseOf(worker), closed_usd: 1 } }
  }
  const stopped = {
    type: CONDITION.stoppedAfterFailure,
    status: true,
    reason: { code: 'text', message: '', params: {} },
    since,
  }
  const fleet = [
    billed({ id: 'w-1', status: 'RUNNING' }),
    billed({ id: 'w-2', status: 'STARTING', cost_per_hour_usd: 0.5 }),
    billed({ id: 'w-3', status: 'STOPPED' }),
    billed({ id: 'w-4', status: 'TERMINATED' }),
    billed({ id: 'w-5', status: 'STOPPING' }),
    billed({ id: 'w-6', status: 'FAILED', conditions: [stopped] }),
  ]

  it('costs the sum of its running machines, like in the API', () => {
    expect(summaryOf(fleet)).toMatchObject({ present: 5, running: 1, usdPerHour: 4.5 })
    const perHour = fleet.map(worker => costOf(worker, since).per_hour_usd)
    expect(fleet.map(isSpending)).toEqual(perHour.map(usd => usd !== null && usd > 0))
    expect(summaryOf([...fleet, billed({ id: 'w-7', status: 'RUNNING', cost_per_hour_usd: null })])).toMatchObject({
      usdPerHour: 4.5,
      unknownPrices: 1,
    })
  })

  it('grows every hour, even without updates', () => {
    expect(fleet.slice(0, 3).map(worker => spentUsd(worker, toMs(since) + 1_800_000))).toEqual([3, 1.25, 1])
  })
})
