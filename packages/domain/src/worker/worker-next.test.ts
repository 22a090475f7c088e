import { anAttempt } from '@lcm/testkit/builders'
import { onMachine } from '@lcm/testkit/observations'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DecisionRecord } from '../decision.ts'
import { toInstant, toMs } from '../instant.ts'
import type { ServiceState } from '../next.ts'
import { BOOT_CONDITIONS } from './boot.ts'
import { NO_LICENSE } from './parts.ts'
import { CONDITION, DesiredStatus, ServiceStatus, WORKER_STATUSES, type Worker } from './worker.ts'
import { nextOfWorker, type WorkerNextFacts, workerNextText } from './worker-next.ts'

const NOW = toMs(onMachine().created_at) + 86_400_000
const words = { nowMs: NOW, duration: (ms: number) => `${Math.round(ms / 60_000)}m` }
const ago = (minutes: number) => toInstant(NOW - minutes * 60_000)

const instant = fc.integer({ min: 0, max: 86_400_000 }).map(ms => toInstant(NOW - ms))
const condition = fc.record({
  type: fc.constantFrom(...Object.values(CONDITION), ...BOOT_CONDITIONS, 'SomeOther'),
  status: fc.boolean(),
  reason: fc.constantFrom('timeout', 'NoCapacity', 'InputMissing', 'X'),
  message: fc.constantFrom('', 'a message'),
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
  because: fc.constant('a reason'),
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
      because: fc.constant('a plan'),
      due_at: fc.option(fc.constant(toInstant(NOW + 9_000))),
    }),
  ),
  controller: fc.option(controller),
  nowMs: fc.constant(NOW),
})

/** Said once more, on purpose not by what the code under test says. */
const isFulfilled = ({ status, desired_status, service_status, drain: draining, license }: Worker): boolean =>
  status === desired_status &&
  (status !== 'RUNNING' || (service_status === 'AVAILABLE' && draining === null)) &&
  (status === 'TERMINATED' || license.pending_operation === null)

it('a wish that is not fulfilled is never idle: what blocks it is named, and since when', () => {
  fc.assert(
    fc.property(facts, given => {
      const next = nextOfWorker(given)
      const text = workerNextText(next, words)
      expect(next.next === 'idle').toBe(isFulfilled(given.worker))
      if (next.next === 'idle') return
      expect(text).not.toMatch(/nothing to do|as it should|as wanted/)
      expect(next.blocked_by).not.toBeNull()
      expect(next.since).toBe(next.blocked_by?.since)
      expect(toMs(next.since ?? '')).toBeLessThanOrEqual(NOW)
    }),
    { numRuns: 2_000 },
  )
})

describe('in words', () => {
  const LEADING: ServiceState = {
    service: 'worker-controller',
    leader: { instance_id: 'a' },
    instances: [{ instance_id: 'a', seen_at: ago(0) }],
    term: null,
    last_seen_at: ago(0),
  }
  const told = (more: Partial<Worker>, other: Partial<WorkerNextFacts> = {}) =>
    workerNextText(
      nextOfWorker({ worker: onMachine(more), decisions: [], plan: null, controller: LEADING, nowMs: NOW, ...other }),
      words,
    )
  const blocked = (type: string, message: string) => [{ type, status: true, reason: 'X', message, since: ago(5) }]

  it('a refused stop', () => {
    const conditions = blocked('StopBlocked', 'EC2 refuses to stop i-1: OperationNotPermitted: it is protected.')
    expect(told({ status: 'STOPPING', desired_status: 'STOPPED', conditions })).toBe(
      'stop its instance; blocked for 5m by StopBlocked: EC2 refuses to stop i-1: OperationNotPermitted: it is protected',
    )
  })

  it('a changed mind in the middle of a stop', () => {
    expect(told({ status: 'STOPPING', desired_status: 'RUNNING', entered_status_at: ago(1) })).toBe(
      'finish the stop of its instance, then start it again; for 1m now: waiting for EC2 to say stopped',
    )
  })

  it('a retry, and when it is due', () => {
    const conditions = [
      { ...blocked('Failed', 'STARTING for more than 30 minutes')[0], reason: 'timeout' },
    ] as Worker['conditions']
    expect(told({ status: 'FAILED', failures: 1, conditions, entered_status_at: ago(2) })).toBe(
      'try again by itself, retry 1 of 3; blocked for 5m by Failed: STARTING for more than 30 minutes; in 3m',
    )
  })

  it('no controller, whether or not the wish is fulfilled', () => {
    const controller = { ...LEADING, leader: null, instances: [], last_seen_at: ago(7) }
    const blockedBy = 'blocked for 7m by ControllerDown: no worker-controller is running'
    expect(told({ desired_status: 'STOPPED' }, { controller })).toBe(`stop its instance; ${blockedBy}`)
    expect(told({}, { controller })).toBe(`RUNNING, as wanted, as far as LCM can tell; ${blockedBy}`)
  })

  it('a protected worker that is drained to be terminated', () => {
    const [drained] = fc.sample(drain, 1)
    expect(told({ status: 'DRAINING', protected: true, drain: drained ?? null })).toContain('then make it STOPPED; for')
    expect(told({ status: 'DRAINING', protected: true, drain: drained ?? null })).toContain(
      'it is protected, so it is not TERMINATED',
    )
  })

  it('a wish that is fulfilled', () => {
    expect(told({})).toBe('nothing to do: RUNNING, as wanted')
  })
})
