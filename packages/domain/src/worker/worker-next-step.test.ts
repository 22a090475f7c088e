import { onMachine } from '@lcm/testkit/observation-builders'
import { anAttempt } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import type { DecisionRecord } from '../journal-records.ts'
import type { ServiceState } from '../next-step.ts'
import { type Reason, reason, textReason } from '../reason.ts'
import { BOOT_CONDITIONS, withBoot } from './boot-stages.ts'
import { CONDITION, DesiredStatus, ServiceStatus, WORKER_STATUSES, type Worker } from './worker.ts'
import { NO_LICENSE } from './worker-field-schemas.ts'
import { nextOfWorker, type WorkerNextFacts, workerNextText } from './worker-next-step.ts'

const NOW = toMs(onMachine().created_at) + 86_400_000
const words = { nowMs: NOW, duration: (ms: number) => `${Math.round(ms / 60_000)}m` }
const ago = (minutes: number) => toInstant(NOW - minutes * 60_000)

const TIMEOUT = reason('status_timeout', { status: 'STARTING', minutes: 30 })

const instant = fc.integer({ min: 0, max: 86_400_000 }).map(ms => toInstant(NOW - ms))
const condition = fc.record({
  type: fc.constantFrom(...Object.values(CONDITION), ...BOOT_CONDITIONS, 'SomeOther'),
  status: fc.boolean(),
  reason: fc.constantFrom(TIMEOUT, reason('metrics_stale'), textReason('a message'), textReason('')),
  since: instant,
})
const drain = instant.map(requested_at => ({
  requested_at,
  by: 'ann',
  reason: '',
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: 'TERMINATED' as const,
  deadline: toInstant(NOW),
}))
const worker: fc.Arbitrary<Worker> = fc
  .record({
    status: fc.constantFrom(...WORKER_STATUSES),
    desired_status: fc.constantFrom(...DesiredStatus.options),
    service_status: fc.constantFrom(...ServiceStatus.options),
    entered_status_at: instant,
    desired_at: fc.option(instant),
    origin: fc.constantFrom('USER', 'SCALE_UP', 'DISCOVERY'),
    protected: fc.boolean(),
    failures: fc.nat(5),
    conditions: fc.uniqueArray(condition, { selector: ({ type }) => type, maxLength: 6 }),
    drain: fc.option(drain),
    launch: fc.option(fc.constantFrom('open', 'launched', 'refused', 'spent').map(state => anAttempt({ state }))),
    ec2_instance_id: fc.constantFrom('i-1', null),
    pending: fc.constantFrom('register', 'deregister', null),
  })
  .map(({ pending, ...more }) => onMachine({ ...more, license: { ...NO_LICENSE, pending_operation: pending } }))

const decision: fc.Arbitrary<DecisionRecord> = fc.record({
  id: fc.constant('d-1'),
  at: instant,
  service: fc.constantFrom('worker-controller', 'resource-scheduler'),
  epoch: fc.constant(1),
  resource: fc.constant('worker:w-1'),
  action: fc.constantFrom('wait', 'nothing', 'write', 'stop'),
  because: fc.constant(textReason('a reason')),
  cause: fc.constant(''),
  seen: fc.record({
    ec2: fc.constantFrom('unknown', 'absent', 'running', 'odd'),
    status: fc.constantFrom(...WORKER_STATUSES),
    desired_status: fc.constantFrom(...DesiredStatus.options),
  }),
  guards: fc.constant([]),
  outcome: fc.constant(''),
  duration_ms: fc.constant(1),
})
const controller: fc.Arbitrary<ServiceState> = fc.record({
  service: fc.constant('worker-controller'),
  leader: fc.constantFrom({ instance_id: 'a' }, null),
  instances: fc.array(
    instant.map(seen_at => ({ instance_id: 'a', seen_at })),
    { maxLength: 1 },
  ),
  term: fc.option(instant.map(updated_at => ({ updated_at }))),
  last_seen_at: fc.option(instant),
})
const facts: fc.Arbitrary<WorkerNextFacts> = fc.record({
  worker,
  decisions: fc.array(decision, { maxLength: 4 }),
  plan: fc.option(
    fc.record({
      resource: fc.constant('worker:w-1'),
      action: fc.constantFrom('wait', 'retry', 'stop'),
      because: fc.constant(textReason('a plan')),
      due_at: fc.option(fc.constant(toInstant(NOW + 9_000))),
    }),
  ),
  controller: fc.option(controller),
  nowMs: fc.constant(NOW),
})

/** Deliberately independent of the code under test. */
const isFulfilled = ({ status, desired_status, service_status, drain: draining, license }: Worker): boolean =>
  status === desired_status &&
  (status !== 'RUNNING' || (service_status === 'AVAILABLE' && draining === null)) &&
  (status === 'TERMINATED' || license.pending_operation === null)

it('a request that is not fulfilled is never idle: the blockage is named, and since when', () => {
  fc.assert(
    fc.property(facts, given => {
      const next = nextOfWorker(given)
      const text = workerNextText(next, words)
      expect(next.next === 'idle').toBe(isFulfilled(given.worker))
      if (next.next === 'idle') return
      expect(text).not.toMatch(/nothing to do|as it should|as requested/)
      expect(next.blocked_by).not.toBeNull()
      expect(next.since).toBe(next.blocked_by?.since)
      expect(toMs(next.since ?? '')).toBeLessThanOrEqual(NOW)
    }),
    { numRuns: 2_000 },
  )
})

describe('as text', () => {
  const LEADING: ServiceState = {
    service: 'worker-controller',
    leader: { instance_id: 'a' },
    instances: [{ instance_id: 'a', seen_at: ago(0) }],
    term: null,
    last_seen_at: ago(0),
  }
  const nextOf = (more: Partial<Worker>, other: Partial<WorkerNextFacts> = {}) =>
    workerNextText(
      nextOfWorker({ worker: onMachine(more), decisions: [], plan: null, controller: LEADING, nowMs: NOW, ...other }),
      words,
    )
  const blocked = (type: string, because: Reason) => [{ type, status: true, reason: because, since: ago(5) }]

  it('a refused stop', () => {
    const refused = { action: 'stop', instance_id: 'i-1', aws_code: 'OperationNotPermitted', error: 'it is protected.' }
    const conditions = blocked('StopBlocked', reason('ec2_refuses', refused))
    expect(nextOf({ status: 'STOPPING', desired_status: 'STOPPED', conditions })).toBe(
      'stop its instance; blocked for 5m: EC2 refuses to stop i-1: it is protected',
    )
  })

  it('a start that is requested during a stop', () => {
    expect(nextOf({ status: 'STOPPING', desired_status: 'RUNNING', entered_status_at: ago(1) })).toBe(
      'finish the stop of its instance, then start it again; for 1m now: waiting for EC2 to report the instance as stopped',
    )
  })

  it('a retry, and when it is due', () => {
    const conditions = blocked('Failed', TIMEOUT)
    expect(nextOf({ status: 'FAILED', failures: 1, conditions, entered_status_at: ago(2) })).toBe(
      'retry automatically (1 of 3) in 3m; blocked for 5m: STARTING for more than 30 minutes',
    )
  })

  it('no controller, whether or not the request is fulfilled', () => {
    const controller = { ...LEADING, leader: null, instances: [], last_seen_at: ago(7) }
    const since = 'for 7m: no worker-controller is running'
    expect(nextOf({ desired_status: 'STOPPED' }, { controller })).toBe(`stop its instance; blocked ${since}`)
    expect(nextOf({}, { controller })).toBe(`RUNNING, as requested; problem ${since}`)
  })

  it('a protected worker that is drained to be terminated', () => {
    const [drained] = fc.sample(drain, 1)
    expect(nextOf({ status: 'DRAINING', protected: true, drain: drained ?? null })).toContain(
      'then make it STOPPED; for',
    )
    expect(nextOf({ status: 'DRAINING', protected: true, drain: drained ?? null })).toContain(
      'the worker is protected, so it will not be TERMINATED',
    )
  })

  it.each<[Reason, Partial<Worker>, Partial<WorkerNextFacts>]>([
    [
      reason('controller_down', { service: 'worker-controller' }),
      {},
      { controller: { ...LEADING, leader: null, instances: [] } },
    ],
    [
      reason('controller_without_leader', { service: 'worker-controller' }),
      {},
      { controller: { ...LEADING, leader: null } },
    ],
    [
      reason('controller_silent', { service: 'worker-controller' }),
      {},
      { controller: { ...LEADING, instances: [{ instance_id: 'a', seen_at: ago(60) }] } },
    ],
    [reason('not_decided_yet', { service: 'worker-controller' }), { desired_status: 'STOPPED' }, {}],
    [reason('waiting_for_ec2', { state: 'terminated' }), { status: 'TERMINATING', desired_status: 'TERMINATED' }, {}],
    [reason('stopped_before_launch'), { status: 'PENDING', desired_status: 'STOPPED', launch: null }, {}],
    [
      reason('launch_attempt_open', { attempt: 1 }),
      { status: 'PENDING', launch: anAttempt({ state: 'open' }), ec2_instance_id: null },
      {},
    ],
    [
      reason('launch_attempt_closed', { attempt: 1, state: 'refused', error: 'no' }),
      { status: 'PENDING', launch: anAttempt({ state: 'refused', error: 'no' }), ec2_instance_id: null },
      {},
    ],
    [
      reason('worker_not_running', { status: 'STOPPED' }),
      { status: 'STOPPED', desired_status: 'STOPPED', license: { ...NO_LICENSE, pending_operation: 'register' } },
      {},
    ],
    [reason('license_not_confirmed'), { license: { ...NO_LICENSE, pending_operation: 'register' } }, {}],
    [
      reason('drain_deadline', { sessions: 0, deadline: toInstant(NOW), spared: 'TERMINATED' }),
      { protected: true, drain: fc.sample(drain, 1)[0] ?? null },
      {},
    ],
    [reason('no_reason_recorded'), { status: 'UNKNOWN' }, {}],
    [reason('cml_settling'), { status: 'STARTING', conditions: withBoot([], 6, NOW) }, {}],
    [
      reason('boot_stage_waiting', { stage: 'TcpReachable', detail: '' }),
      { status: 'STARTING', conditions: withBoot([], 1, NOW) },
      {},
    ],
  ])('$0.code', (because, more, other) => {
    expect(nextOf(more, other)).toContain(`: ${because.message}`)
  })

  it('a request that is fulfilled', () => {
    expect(nextOf({})).toBe('nothing to do: RUNNING, as requested')
  })
})
