import { aServingWorker, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { HEALTHY } from '../health.ts'
import { reason } from '../reason.ts'
import { withBoot } from './boot-stages.ts'
import { CONDITION, type Worker } from './worker.ts'
import { workerHealth } from './worker-health.ts'

const SINCE = '2026-01-02T03:10:00.000Z'
const BECAUSE = reason('cml_ready', { version: '2.9' })
const condition = (type: string, status = true) => ({ type, status, reason: BECAUSE, since: SINCE })
const health = (more: Partial<Worker>) => workerHealth(aServingWorker(more))

describe('the health of a worker', () => {
  it.each<[string, Partial<Worker>, string]>([
    ['serves', {}, 'OK'],
    ['boots', { status: 'STARTING', service_status: 'STARTING' }, 'OK'],
    ['is stopped as requested', { status: 'STOPPED', desired_status: 'STOPPED', service_status: 'UNAVAILABLE' }, 'OK'],
    ['is gone', { status: 'TERMINATED', service_status: 'UNAVAILABLE' }, 'OK'],
    ['is stopped although it should run', { status: 'STOPPED', service_status: 'UNAVAILABLE' }, 'DEGRADED'],
    ['was just requested to start', { status: 'STOPPED', desired_at: SINCE, service_status: 'UNAVAILABLE' }, 'OK'],
    ['has a silent CML', { service_status: 'UNAVAILABLE' }, 'DOWN'],
    ['drains with a silent CML', { status: 'DRAINING', service_status: 'UNAVAILABLE' }, 'DOWN'],
    ['has failed', { status: 'FAILED', service_status: 'ERROR' }, 'DOWN'],
    ['can not be started', { status: 'STARTING', conditions: [condition(CONDITION.blocked)] }, 'DOWN'],
    ['is unknown to EC2 for now', { status: 'UNKNOWN' }, 'DEGRADED'],
    ['has a region that does not answer', { conditions: [condition(CONDITION.ec2Unreachable)] }, 'DEGRADED'],
    ['refuses its login', { conditions: [condition(CONDITION.cmlAccessRefused)] }, 'DEGRADED'],
    ['was not measured for long', { conditions: [condition(CONDITION.metricsStale)] }, 'DEGRADED'],
    ['has a condition that does not hold', { conditions: [condition(CONDITION.overdue, false)] }, 'OK'],
  ])('that %s', (_, more, status) => {
    expect(health(more).status).toBe(status)
  })

  it('says why and since when', () => {
    expect(health({ conditions: [condition(CONDITION.overdue)] })).toEqual({
      status: 'DEGRADED',
      reason: BECAUSE,
      since: SINCE,
    })
    const silent = { service_status: 'UNAVAILABLE', conditions: [condition('CmlReady', false)] } as const
    expect(health({ ...silent, conditions: [...silent.conditions] })).toMatchObject({ reason: BECAUSE, since: SINCE })
    expect(health({ status: 'UNKNOWN' })).toMatchObject({
      reason: { code: 'worker_status' },
      since: aWorker().entered_status_at,
    })
  })

  it('names what its CML waits for, not the stages after that', () => {
    const conditions = withBoot(withBoot([], 6, 1_000), 4, 9_000, 'answered 500')
    expect(health({ service_status: 'UNAVAILABLE', conditions })).toEqual({
      status: 'DOWN',
      reason: reason('boot_stage_waiting', { stage: 'ApiAnswers', detail: 'answered 500' }),
      since: '1970-01-01T00:00:09.000Z',
    })
  })

  it('is not judged by a CML that LCM may not ask', () => {
    const approval = { ...aWorker().approval, state: 'required' } as const
    expect(health({ service_status: 'UNAVAILABLE', origin: 'DISCOVERY', approval })).toEqual(HEALTHY)
  })
})
