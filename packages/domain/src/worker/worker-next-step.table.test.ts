import { onMachine } from '@lcm/testkit/observation-builders'
import { anAttempt } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import type { DecisionRecord } from '../journal-records.ts'
import type { ServiceState } from '../next-step.ts'
import { reason, textReason } from '../reason.ts'
import { withBoot } from './boot-stages.ts'
import { type Condition, DesiredStatus, WORKER_STATUSES, type Worker, type WorkerStatus } from './worker.ts'
import { NO_LICENSE } from './worker-field-schemas.ts'
import {
  nextOfWorker,
  WORKER_NEXT_CODES,
  type WorkerNextCode,
  type WorkerNextFacts,
  workerNextText,
} from './worker-next-step.ts'

const NOW = toMs(onMachine().created_at) + 3_600_000
const ago = (seconds: number) => toInstant(NOW - seconds * 1000)
/** When every status was entered, when every request was made, and when every blockage began. */
const [ENTERED, WISHED, BLOCKED] = [ago(900), ago(600), ago(300)]
const DESIRED = DesiredStatus.options

type Cell = `${WorkerStatus}/${DesiredStatus}`
type Expected = readonly [next: WorkerNextCode, blockedBy: string | null, since: string | null]

const condition = (type: string, more: Partial<Condition> = {}): Condition => ({
  type,
  status: true,
  reason: textReason(`the message of ${type}`),
  since: BLOCKED,
  ...more,
})
const decision = (more: Partial<DecisionRecord>): DecisionRecord => ({
  id: 'd-1',
  at: BLOCKED,
  service: 'worker-controller',
  epoch: 1,
  resource: 'worker:w-1',
  action: 'wait',
  because: textReason('the reason of the decision'),
  cause: 'timer',
  seen: { ec2: 'running' },
  guards: [],
  outcome: '',
  duration_ms: 1,
  ...more,
})
const LEADING: ServiceState = {
  service: 'worker-controller',
  leader: { instance_id: 'a' },
  instances: [{ instance_id: 'a', seen_at: ago(1) }],
  term: { updated_at: ENTERED },
  last_seen_at: ago(1),
}
const DRAIN = {
  requested_at: BLOCKED,
  by: 'ann',
  reason: '',
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: 'STOPPED',
  deadline: toInstant(NOW + 600_000),
} as const

/** A worker as it normally is in that status. */
function workerIn(status: WorkerStatus, desired_status: DesiredStatus): Worker {
  const about = { status, desired_status, entered_status_at: ENTERED, desired_at: WISHED }
  switch (status) {
    case 'PENDING':
      return onMachine({ ...about, launch: null, ec2_instance_id: null, service_status: 'UNAVAILABLE' })
    case 'STARTING':
      return onMachine({ ...about, service_status: 'STARTING', conditions: withBoot([], 1, toMs(ENTERED)) })
    case 'DRAINING':
      return onMachine({ ...about, drain: { ...DRAIN, requested_at: ENTERED } })
    case 'FAILED':
      return onMachine({ ...about, failures: 1, conditions: [condition('Failed', { since: ENTERED })] })
    default:
      return onMachine(about)
  }
}

const factsIn = (status: WorkerStatus, desired: DesiredStatus): WorkerNextFacts => ({
  worker: workerIn(status, desired),
  decisions: [],
  plan: null,
  controller: LEADING,
  nowMs: NOW,
})

const NEW: readonly [string, string] = ['NotDecidedYet', WISHED]
/** The next step while nothing blocks it. */
const UNBLOCKED: Readonly<Record<Cell, Expected>> = {
  'PENDING/RUNNING': ['launch', ...NEW],
  'PENDING/STOPPED': ['hold', 'HeldByIntent', ENTERED],
  'PENDING/TERMINATED': ['terminate', ...NEW],
  'PROVISIONING/RUNNING': ['boot', 'InstanceRunning', ENTERED],
  'PROVISIONING/STOPPED': ['stop', ...NEW],
  'PROVISIONING/TERMINATED': ['terminate', ...NEW],
  'STARTING/RUNNING': ['boot', 'TcpReachable', ENTERED],
  'STARTING/STOPPED': ['stop', ...NEW],
  'STARTING/TERMINATED': ['terminate', ...NEW],
  'RUNNING/RUNNING': ['idle', null, null],
  'RUNNING/STOPPED': ['stop', ...NEW],
  'RUNNING/TERMINATED': ['terminate', ...NEW],
  'DRAINING/RUNNING': ['drain', 'Draining', ENTERED],
  'DRAINING/STOPPED': ['stop', ...NEW],
  'DRAINING/TERMINATED': ['terminate', ...NEW],
  'STOPPING/RUNNING': ['restart', 'InstanceStopping', ENTERED],
  'STOPPING/STOPPED': ['stop', 'InstanceStopping', ENTERED],
  'STOPPING/TERMINATED': ['terminate', ...NEW],
  'STOPPED/RUNNING': ['start', ...NEW],
  'STOPPED/STOPPED': ['idle', null, null],
  'STOPPED/TERMINATED': ['terminate', ...NEW],
  'TERMINATING/RUNNING': ['lost', 'InstanceTerminating', ENTERED],
  'TERMINATING/STOPPED': ['lost', 'InstanceTerminating', ENTERED],
  'TERMINATING/TERMINATED': ['terminate', 'InstanceTerminating', ENTERED],
  'TERMINATED/RUNNING': ['lost', 'InstanceLost', ENTERED],
  'TERMINATED/STOPPED': ['lost', 'InstanceLost', ENTERED],
  'TERMINATED/TERMINATED': ['idle', null, null],
  'FAILED/RUNNING': ['manual', 'Failed', ENTERED],
  'FAILED/STOPPED': ['stop', ...NEW],
  'FAILED/TERMINATED': ['terminate', ...NEW],
  'UNKNOWN/RUNNING': ['identify', 'UnknownEc2State', ENTERED],
  'UNKNOWN/STOPPED': ['identify', 'UnknownEc2State', ENTERED],
  'UNKNOWN/TERMINATED': ['terminate', ...NEW],
}

interface Row {
  readonly name: string
  readonly apply: (facts: WorkerNextFacts) => WorkerNextFacts
  /** Where it blocks, and what is next there; elsewhere it changes nothing. */
  readonly blocks: Partial<Record<Cell, Expected>>
}

const withWorker = (change: (worker: Worker) => Partial<Worker>) => (facts: WorkerNextFacts) => ({
  ...facts,
  worker: { ...facts.worker, ...change(facts.worker) },
})
const adding = (...added: Condition[]) =>
  withWorker(({ conditions }) => ({
    conditions: [...conditions.filter(({ type }) => type !== added[0]?.type), ...added],
  }))
const CELLS = Object.keys(UNBLOCKED) as Cell[]
/** The same blockage in many cells, with the next step that is usual there. */
const everywhere = (blockedBy: string, where: (cell: Cell) => boolean): Row['blocks'] =>
  Object.fromEntries(CELLS.filter(where).map(cell => [cell, [UNBLOCKED[cell][0], blockedBy, BLOCKED]]))
const isIn =
  (...statuses: WorkerStatus[]) =>
  (cell: Cell) =>
    statuses.some(status => cell.startsWith(`${status}/`))
const hasMachine = (cell: Cell) => !isIn('PENDING', 'TERMINATED')(cell)
const isNotFinal = (cell: Cell) => !isIn('TERMINATED')(cell)
const only = (next: WorkerNextCode, blockedBy: string, ...cells: Cell[]): Row['blocks'] =>
  Object.fromEntries(cells.map(cell => [cell, [next, blockedBy, BLOCKED]]))
const controller = (state: Partial<ServiceState>) => (facts: WorkerNextFacts) => ({
  ...facts,
  controller: { ...LEADING, ...state },
})
const decided =
  (more: Partial<DecisionRecord>, ...older: DecisionRecord[]) =>
  (facts: WorkerNextFacts) => ({ ...facts, decisions: [decision(more), ...older] })
const isNew = (cell: Cell) => UNBLOCKED[cell][1] === 'NotDecidedYet'
const attempt = (state: 'open' | 'spent', error: string | null) =>
  withWorker(({ status }) =>
    status === 'PENDING' ? { launch: anAttempt({ state, error, requested_at: BLOCKED }) } : {},
  )
const silentCml = withWorker(({ status, conditions }) =>
  status === 'RUNNING'
    ? {
        service_status: 'UNAVAILABLE',
        conditions: withBoot(withBoot(conditions, 6, NOW - 900_000), 2, toMs(BLOCKED), 'certificate has changed'),
      }
    : {},
)
const LICENSE = { ...NO_LICENSE, pending_operation: 'register', operation_started_at: BLOCKED } as const

const TIMEOUT = reason('status_timeout', { status: 'STARTING', minutes: 30 })
const NO_TEMPLATE = reason('launch_input_missing', { cause: reason('template_not_found', { template: 'metal' }) })
const NO_CAPACITY = reason('ec2_no_capacity', {
  action: 'start',
  instance_types: ['m5zn.metal'],
  locations: ['us-east-1a'],
  aws_code: 'InsufficientInstanceCapacity',
  retry_minutes: 3,
})
const denied = (aws_code: string) =>
  reason('aws_denies', { action: 'start', error_class: 'auth', aws_code, error: 'not now' })

const ROWS: readonly Row[] = [
  { name: 'nothing unusual', apply: facts => facts, blocks: {} },
  {
    name: 'no controller runs',
    apply: controller({ leader: null, instances: [], last_seen_at: BLOCKED }),
    blocks: everywhere('ControllerDown', isNotFinal),
  },
  {
    name: 'no controller leads',
    apply: controller({ leader: null, term: { updated_at: BLOCKED } }),
    blocks: everywhere('NoLeader', isNotFinal),
  },
  {
    name: 'the leader sends no heartbeat',
    apply: controller({ instances: [{ instance_id: 'a', seen_at: BLOCKED }] }),
    blocks: everywhere('ControllerSilent', isNotFinal),
  },
  {
    name: 'EC2 is unreachable',
    apply: adding(condition('Ec2Unreachable')),
    blocks: everywhere('Ec2Unreachable', isNotFinal),
  },
  {
    name: 'EC2 did not answer the last reads, with different messages',
    apply: decided(
      { at: ago(10), because: textReason('timeout'), seen: { ec2: 'unknown' } },
      decision({ id: 'd-0', because: textReason('503'), seen: { ec2: 'unknown' } }),
      decision({ id: 'd-00', at: ENTERED, seen: { ec2: 'running' } }),
    ),
    blocks: everywhere('Ec2Unreachable', isNotFinal),
  },
  {
    name: 'the instance is not visible, which is not confirmed yet',
    apply: decided({ seen: { ec2: 'absent' } }),
    blocks: everywhere('InstanceNotVisible', hasMachine),
  },
  { name: 'another fleet owns it', apply: adding(condition('NotOurs')), blocks: everywhere('NotOurs', isNotFinal) },
  {
    name: 'NotOurs is over',
    apply: adding(condition('NotOurs', { status: false })),
    blocks: {},
  },
  ...[NO_CAPACITY, denied('VcpuLimitExceeded'), denied('UnauthorizedOperation'), NO_TEMPLATE].map(because => ({
    name: `the launch or start is refused: ${because.code} ${because.params.aws_code ?? ''}`,
    apply: adding(condition('LaunchBlocked', { reason: because })),
    blocks: {
      ...only('launch', 'LaunchBlocked', 'PENDING/RUNNING'),
      ...only('boot', 'LaunchBlocked', 'PROVISIONING/RUNNING', 'STARTING/RUNNING'),
      // It must boot once more to return its license.
      ...only('terminate', 'LaunchBlocked', 'TERMINATING/TERMINATED'),
    },
  })),
  {
    name: 'the stop is refused',
    apply: adding(condition('StopBlocked')),
    blocks: {
      ...only('restart', 'StopBlocked', 'STOPPING/RUNNING'),
      ...only('stop', 'StopBlocked', ...CELLS.filter(cell => UNBLOCKED[cell][0] === 'stop')),
    },
  },
  {
    name: 'the termination is refused',
    apply: adding(condition('TerminateBlocked')),
    blocks: only('terminate', 'TerminateBlocked', 'TERMINATING/TERMINATED'),
  },
  {
    name: 'CML keeps its license',
    apply: adding(condition('ReturningLicense')),
    blocks: only('terminate', 'ReturningLicense', 'TERMINATING/TERMINATED'),
  },
  {
    name: 'EC2 takes too long, or a protected worker failed',
    apply: adding(condition('Overdue')),
    blocks: only('terminate', 'Overdue', 'TERMINATING/TERMINATED'),
  },
  {
    name: 'it failed and is retried',
    apply: adding(condition('Failed', { reason: TIMEOUT })),
    blocks: only('retry', 'Failed', 'FAILED/RUNNING'),
  },
  {
    name: 'it failed and all retries are used up',
    apply: facts => withWorker(() => ({ failures: 4 }))(adding(condition('Failed', { reason: TIMEOUT }))(facts)),
    blocks: only('manual', 'Failed', 'FAILED/RUNNING'),
  },
  {
    name: 'a scale-up created it and it never ran',
    apply: withWorker(() => ({ origin: 'SCALE_UP', state_history: [] })),
    blocks: { 'FAILED/RUNNING': ['terminate', ...NEW] },
  },
  {
    name: 'it is held by its intent',
    apply: adding(condition('HeldByIntent')),
    blocks: only('hold', 'HeldByIntent', 'PENDING/STOPPED'),
  },
  {
    name: 'a launch attempt is open',
    apply: attempt('open', null),
    blocks: everywhere('LaunchAttempt', isIn('PENDING')),
  },
  {
    name: 'the last launch attempt died',
    apply: attempt('spent', 'i-1 is terminated'),
    blocks: only('launch', 'LaunchAttempt', 'PENDING/RUNNING'),
  },
  {
    name: 'a drain was requested',
    apply: withWorker(() => ({ drain: DRAIN })),
    blocks: only('drain', 'Draining', 'RUNNING/RUNNING', 'DRAINING/RUNNING'),
  },
  {
    name: 'the drain was canceled',
    apply: withWorker(() => ({ drain: null })),
    blocks: { 'DRAINING/RUNNING': ['end_drain', ...NEW] },
  },
  {
    name: 'a license operation is open',
    apply: withWorker(() => ({ license: LICENSE })),
    blocks: {
      ...only('license', 'LicenseOperation', 'RUNNING/RUNNING'),
      'STOPPED/STOPPED': ['license', 'NotRunning', ENTERED],
    },
  },
  {
    name: 'CML refused the license',
    apply: withWorker(() => ({ license: { ...LICENSE, last_error: 'token is invalid' } })),
    blocks: {
      ...only('license', 'LicenseOperation', 'RUNNING/RUNNING'),
      'STOPPED/STOPPED': ['license', 'NotRunning', ENTERED],
    },
  },
  {
    name: 'the certificate of CML changed',
    apply: silentCml,
    blocks: only('serve', 'TlsEstablished', 'RUNNING/RUNNING'),
  },
  {
    name: 'CML serves and refuses the login',
    apply: adding(condition('CmlAccessRefused')),
    blocks: only('idle', 'CmlAccessRefused', 'RUNNING/RUNNING'),
  },
  {
    name: 'CML does not answer and refused the login before',
    apply: facts => adding(condition('CmlAccessRefused'))(silentCml(facts)),
    blocks: only('serve', 'CmlAccessRefused', 'RUNNING/RUNNING'),
  },
  {
    name: 'the controller decided to wait, for this request',
    apply: facts => {
      const { status, desired_status } = facts.worker
      return decided({ seen: { ec2: 'running', status, desired_status } })(facts)
    },
    blocks: everywhere('Decision', isNew),
  },
  {
    name: 'the last decision was about another request',
    apply: decided({ seen: { ec2: 'running', status: 'RUNNING', desired_status: 'OTHER' } }),
    blocks: {},
  },
  {
    name: 'the controller plans to check again',
    apply: facts => ({
      ...facts,
      plan: { resource: 'worker:w-1', action: 'retry', because: textReason('EC2 does not answer'), due_at: null },
    }),
    blocks: Object.fromEntries(CELLS.filter(isNew).map(cell => [cell, [UNBLOCKED[cell][0], 'Planned', WISHED]])),
  },
]

/** Texts that would suggest that nothing is left to do. */
const IDLE_WORDS = /nothing|no action|as it should|as requested|done/i
const words = { nowMs: NOW, duration: (ms: number) => `${ms / 1000}s` }

describe.each(ROWS)('$name', ({ apply, blocks }) => {
  it.each(CELLS)('%s', cell => {
    const [status, desired] = cell.split('/') as [WorkerStatus, DesiredStatus]
    const next = nextOfWorker(apply(factsIn(status, desired)))
    const [code, blockedBy, since] = blocks[cell] ?? UNBLOCKED[cell]
    expect([next.next, next.blocked_by?.code ?? null, next.since]).toEqual([code, blockedBy, since])
    const text = workerNextText(next, words)
    if (code !== 'idle') expect(text).not.toMatch(IDLE_WORDS)
    if (blockedBy === null) return
    expect(text).toContain(next.blocked_by?.reason.message)
    expect(text).toContain(`${(NOW - toMs(since ?? '')) / 1000}s`)
  })
})

it('covers every status, every desired status and every next step', () => {
  expect(CELLS.toSorted()).toEqual(
    WORKER_STATUSES.flatMap(status => DESIRED.map(desired => `${status}/${desired}`)).toSorted(),
  )
  const named = new Set(
    ROWS.flatMap(({ blocks }) => [...Object.values(blocks), ...Object.values(UNBLOCKED)].map(([code]) => code)),
  )
  expect([...named].toSorted()).toEqual([...WORKER_NEXT_CODES].toSorted())
})
