import { anAttempt, anInstance, aWorker } from '@lcm/testkit/builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import { decideWorker } from './decide.ts'
import { type Observation, WORKER_POLICY } from './observation.ts'
import type { Condition, Worker } from './worker.ts'

const ENTERED = toMs(aWorker().entered_status_at)
const now = ENTERED + 10 * 60_000
const silentSince = ENTERED + 60_000
const running = (more: Partial<Worker> = {}): Worker =>
  aWorker({
    status: 'RUNNING',
    service_status: 'AVAILABLE',
    ec2_instance_id: 'i-1',
    launch: anAttempt(),
    instance_type: 'm5zn.metal',
    ami_id: 'ami-1',
    availability_zone: 'us-east-1a',
    public_ip: '127.64.0.1',
    private_ip: '127.64.0.1',
    https_endpoint: 'https://127.64.0.1',
    ...more,
  })
const decide = (worker: Worker, more: Partial<Observation> = {}) =>
  decideWorker(
    worker,
    {
      ec2: { kind: 'instance', instance: anInstance() },
      cml: null,
      license: null,
      launch: null,
      isSurveyDue: false,
      nodeDefinitions: null,
      metricsSilentSince: null,
      ...more,
    },
    WORKER_POLICY,
    now,
  )

const STALE: Condition = {
  type: 'MetricsStale',
  status: true,
  reason: 'NoSample',
  message: expect.stringContaining('how busy it is'),
  since: toInstant(silentSince),
}
const OTHER: Condition = { type: 'Overdue', status: true, reason: 'x', message: 'y', since: toInstant(ENTERED) }

describe('a worker of which nothing was measured for too long', () => {
  it('is told of, with since when, beside all else that is said of it', () => {
    expect(decide(running({ conditions: [OTHER] }), { metricsSilentSince: silentSince }).action).toEqual({
      kind: 'write',
      changes: { conditions: [OTHER, STALE] },
      afterMs: 0,
    })
  })

  it('is told of once: the checks behind it have their turn', () => {
    const told = running({ conditions: [STALE] })
    expect(decide(told, { metricsSilentSince: silentSince }).action.kind).toBe('nothing')
    expect(decide(told, { metricsSilentSince: silentSince, isSurveyDue: true }).action.kind).toBe('survey')
  })

  it('is no longer told of once it is measured again, or does not run', () => {
    expect(decide(running({ conditions: [OTHER, STALE] })).action).toMatchObject({ changes: { conditions: [OTHER] } })
    const stopped = running({ conditions: [OTHER, STALE], desired_status: 'STOPPED' })
    expect(decide(stopped, { metricsSilentSince: silentSince }).action).toMatchObject({
      changes: { status: 'STOPPING', conditions: [OTHER] },
    })
    expect(
      decide(running({ conditions: [STALE] }), {
        ec2: { kind: 'instance', instance: anInstance({ state: 'stopped', public_ip: null }) },
      }).action,
    ).toMatchObject({ changes: { status: 'STOPPED', conditions: expect.not.arrayContaining([STALE]) } })
  })

  it('comes after drift, and before the licence', () => {
    const moved = anInstance({ public_ip: '127.64.0.9' })
    expect(
      decide(running(), { ec2: { kind: 'instance', instance: moved }, metricsSilentSince: silentSince }).because,
    ).toContain('public_ip')
    const registered = {
      kind: 'seen',
      registration: 'COMPLETED',
      authorization: 'IN_COMPLIANCE',
      failure: null,
      udi: 'udi-1',
      hostname: null,
      product: null,
    } as const
    expect(decide(running(), { license: registered, metricsSilentSince: silentSince }).action).toMatchObject({
      changes: { conditions: [STALE] },
    })
  })
})
