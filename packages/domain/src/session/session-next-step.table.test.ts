import { aServingWorker, aSession } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import type { DecisionRecord } from '../journal-records.ts'
import type { ServiceState } from '../next-step.ts'
import { reason, textReason } from '../reason.ts'
import { withBoot } from '../worker/boot-stages.ts'
import { type LabletSession, type Pipeline, SESSION_STATUSES, type SessionStatus, UNTOUCHED } from './lablet-session.ts'
import { newPipeline } from './pipeline.ts'
import {
  nextOfSession,
  SESSION_NEXT_CODES,
  type SessionNextCode,
  type SessionNextFacts,
  sessionNextText,
} from './session-next-step.ts'
import { unschedulable } from './unschedulable-reason.ts'

const START = toMs(aSession().timeslot.start)
const END = toMs(aSession().timeslot.end)
const NOW = START + 1_800_000
const ago = (seconds: number) => toInstant(NOW - seconds * 1000)
/** When every status was entered, when its record last changed, and when every blockage began. */
const [ENTERED, UPDATED, BLOCKED] = [ago(900), ago(600), ago(300)]
const DESIRED = ['RUNNING', 'TERMINATED'] as const

type Cell = `${SessionStatus}/${(typeof DESIRED)[number]}`
type Expected = readonly [next: SessionNextCode, blockedBy: string | null, since: string | null]

const leading = (service: string, nowMs = NOW): ServiceState => ({
  service,
  leader: { instance_id: 'a' },
  instances: [{ instance_id: 'a', seen_at: toInstant(nowMs) }],
  term: null,
  last_seen_at: toInstant(nowMs),
})
const SERVICES = ['resource-scheduler', 'lablet-controller', 'worker-controller'].map(name => leading(name))
const at = (name: Pipeline['name'], step: string, more: Partial<typeof UNTOUCHED>): Pipeline => {
  const pipeline = newPipeline(name, 1)
  const names = Object.keys(pipeline.steps)
  const steps = names.map((each, index) =>
    index < names.indexOf(step)
      ? [each, { ...UNTOUCHED, status: 'completed' as const }]
      : [each, each === step ? { ...UNTOUCHED, ...more } : UNTOUCHED],
  )
  return { ...pipeline, steps: Object.fromEntries(steps) }
}
const DONE: Pipeline = at('instantiate', '', {})
const UP: Pipeline = {
  ...DONE,
  steps: Object.fromEntries(
    Object.keys(DONE.steps).map(name => [name, { ...UNTOUCHED, status: 'completed' as const }]),
  ),
}

const PIPELINES: Partial<Record<SessionStatus, Pipeline>> = {
  INSTANTIATING: at('instantiate', 'tags', { status: 'running', started_at: ENTERED }),
  READY: UP,
  RUNNING: UP,
  EXPIRED: UP,
  STOPPING: at('teardown', 'wipe', { status: 'running', started_at: ENTERED }),
}

const factsIn = (status: SessionStatus, desired_status: 'RUNNING' | 'TERMINATED'): SessionNextFacts => {
  const about = { status, desired_status, entered_status_at: ENTERED, updated_at: UPDATED }
  const isPlaced = status !== 'PENDING'
  return {
    session: aSession({ ...about, worker_id: isPlaced ? 'w-1' : null, pipeline: PIPELINES[status] ?? null }),
    worker: isPlaced ? aServingWorker() : null,
    decisions: [],
    plan: null,
    services: SERVICES,
    nowMs: NOW,
  }
}

/** The next step in the middle of the slot while nothing blocks it. */
const UNBLOCKED: Readonly<Record<Cell, Expected>> = {
  'PENDING/RUNNING': ['place', 'NotDecidedYet', ENTERED],
  'PENDING/TERMINATED': ['cancel', 'NotDecidedYet', UPDATED],
  'SCHEDULED/RUNNING': ['start_lab', 'NotDecidedYet', ENTERED],
  'SCHEDULED/TERMINATED': ['cancel', 'NotDecidedYet', UPDATED],
  'INSTANTIATING/RUNNING': ['start_lab', 'tags', ENTERED],
  'INSTANTIATING/TERMINATED': ['tear_down', 'NotDecidedYet', UPDATED],
  'READY/RUNNING': ['begin', null, null],
  'READY/TERMINATED': ['tear_down', 'NotDecidedYet', UPDATED],
  'RUNNING/RUNNING': ['use', null, null],
  'RUNNING/TERMINATED': ['tear_down', 'NotDecidedYet', UPDATED],
  'EXPIRED/RUNNING': ['tear_down', 'NotDecidedYet', UPDATED],
  'EXPIRED/TERMINATED': ['tear_down', 'NotDecidedYet', UPDATED],
  'STOPPING/RUNNING': ['tear_down', 'wipe', ENTERED],
  'STOPPING/TERMINATED': ['tear_down', 'wipe', ENTERED],
  'STOPPED/RUNNING': ['close', 'NotDecidedYet', UPDATED],
  'STOPPED/TERMINATED': ['close', 'NotDecidedYet', UPDATED],
  'ARCHIVED/RUNNING': ['idle', null, null],
  'ARCHIVED/TERMINATED': ['idle', null, null],
  'TERMINATED/RUNNING': ['lost', 'Ended', ENTERED],
  'TERMINATED/TERMINATED': ['idle', null, null],
}
const CELLS = Object.keys(UNBLOCKED) as Cell[]

interface Row {
  readonly name: string
  readonly apply: (facts: SessionNextFacts) => SessionNextFacts
  readonly blocks: Partial<Record<Cell, Expected>>
}

const withSession =
  (more: Partial<LabletSession>, ...statuses: SessionStatus[]) =>
  (facts: SessionNextFacts) =>
    statuses.includes(facts.session.status) ? { ...facts, session: { ...facts.session, ...more } } : facts
const without = (service: string) => (facts: SessionNextFacts) => ({
  ...facts,
  services: facts.services.map(each =>
    each.service === service ? { ...each, leader: null, instances: [], last_seen_at: BLOCKED } : each,
  ),
})
const isFinalCell = (cell: Cell) => cell.startsWith('ARCHIVED') || cell.startsWith('TERMINATED')
const same = (blockedBy: string, cells: readonly Cell[]): Row['blocks'] =>
  Object.fromEntries(cells.map(cell => [cell, [UNBLOCKED[cell][0], blockedBy, BLOCKED]]))
const booting = aServingWorker({
  status: 'STARTING',
  service_status: 'STARTING',
  entered_status_at: BLOCKED,
  conditions: withBoot([], 1, toMs(BLOCKED)),
})
const labStopped = {
  type: 'LabStopped',
  status: true,
  reason: reason('lab_stopped_on_cml', { state: 'STOPPED' }),
  since: BLOCKED,
}
const REFUSED = { type: 'CmlAccessRefused', status: true, reason: textReason('no'), since: BLOCKED }
const SILENT: DecisionRecord = {
  id: 'd-1',
  at: BLOCKED,
  service: 'lablet-controller',
  epoch: 1,
  resource: 'session:ls-1',
  action: 'wait',
  because: textReason('CML does not answer'),
  cause: '',
  seen: {},
  guards: [],
  outcome: '',
  duration_ms: 1,
}
const planned = (service: SessionStatus, dueInMs: number) => (facts: SessionNextFacts) =>
  facts.session.status === service
    ? {
        ...facts,
        plan: {
          resource: 'session:ls-1',
          action: 'wait',
          because: textReason('later'),
          due_at: toInstant(facts.nowMs + dueInMs),
        },
      }
    : facts
const overSlot: Row['blocks'] = {
  'PENDING/RUNNING': ['expire', 'NotDecidedYet', toInstant(END)],
  'SCHEDULED/RUNNING': ['expire', 'NotDecidedYet', toInstant(END)],
  'INSTANTIATING/RUNNING': ['tear_down', 'NotDecidedYet', toInstant(END)],
  'READY/RUNNING': ['tear_down', 'NotDecidedYet', toInstant(END)],
  'RUNNING/RUNNING': ['tear_down', 'NotDecidedYet', toInstant(END)],
  'EXPIRED/RUNNING': ['tear_down', 'NotDecidedYet', toInstant(END)],
  'STOPPED/RUNNING': ['close', 'NotDecidedYet', toInstant(END)],
}

const ROWS: readonly Row[] = [
  { name: 'nothing unusual', apply: facts => facts, blocks: {} },
  {
    name: 'no resource-scheduler runs',
    apply: without('resource-scheduler'),
    blocks: same('ControllerDown', ['PENDING/RUNNING']),
  },
  {
    name: 'no lablet-controller runs',
    apply: without('lablet-controller'),
    blocks: same(
      'ControllerDown',
      CELLS.filter(cell => cell !== 'PENDING/RUNNING' && !isFinalCell(cell)),
    ),
  },
  {
    name: 'no worker has capacity',
    apply: withSession({ waiting_reason: reason('no_workers'), entered_status_at: BLOCKED }, 'PENDING'),
    blocks: same('NoPlacement', ['PENDING/RUNNING']),
  },
  {
    name: 'no worker can ever take it',
    apply: withSession(
      { waiting_reason: unschedulable(reason('no_template_enabled')), entered_status_at: BLOCKED },
      'PENDING',
    ),
    blocks: same('Unschedulable', ['PENDING/RUNNING']),
  },
  {
    name: 'it is placed later',
    apply: planned('PENDING', 600_000),
    blocks: { 'PENDING/RUNNING': ['place', 'Planned', ENTERED] },
  },
  {
    name: 'its lab is started later',
    apply: planned('SCHEDULED', 600_000),
    blocks: { 'SCHEDULED/RUNNING': ['start_lab', 'BeforeSlot', ENTERED] },
  },
  {
    name: 'its worker boots',
    apply: facts => planned('SCHEDULED', 5_000)({ ...facts, worker: facts.worker && booting }),
    blocks: {
      ...same('WorkerNotServing', ['SCHEDULED/RUNNING', 'INSTANTIATING/RUNNING']),
      'READY/RUNNING': ['restore_worker', 'WorkerNotServing', BLOCKED],
      'RUNNING/RUNNING': ['restore_worker', 'WorkerNotServing', BLOCKED],
    },
  },
  {
    name: 'a step is blocked by a CML that does not answer',
    apply: facts =>
      withSession(
        { pipeline: at('teardown', 'stop', { status: 'blocked', error: 'CML does not answer', started_at: BLOCKED }) },
        'STOPPING',
      )(facts),
    blocks: same('stop', ['STOPPING/RUNNING', 'STOPPING/TERMINATED']),
  },
  {
    name: 'CML does not answer the step',
    apply: facts => ({ ...facts, decisions: [SILENT] }),
    blocks: {
      ...same('wipe', ['STOPPING/RUNNING', 'STOPPING/TERMINATED']),
      ...same('tags', ['INSTANTIATING/RUNNING']),
    },
  },
  {
    name: 'CML refuses the login of LCM',
    apply: facts => ({ ...facts, worker: facts.worker && { ...facts.worker, conditions: [REFUSED] } }),
    blocks: same('CmlAccessRefused', ['STOPPING/RUNNING', 'STOPPING/TERMINATED', 'INSTANTIATING/RUNNING']),
  },
  {
    name: 'the start of its lab fails',
    apply: withSession(
      { pipeline: at('instantiate', 'lab_start', { status: 'pending', error: 'no', ended_at: BLOCKED }) },
      'INSTANTIATING',
    ),
    blocks: same('lab_start', ['INSTANTIATING/RUNNING']),
  },
  {
    name: 'a person moves it, and its work is saved first',
    apply: withSession(
      { move: { requested_at: BLOCKED, requested_by: 'ann', worker: 'metal-1', reason: '' } },
      'READY',
      'RUNNING',
    ),
    blocks: {
      'READY/RUNNING': ['move', 'LastSave', BLOCKED],
      'RUNNING/RUNNING': ['move', 'LastSave', BLOCKED],
    },
  },
  {
    name: 'its lab was stopped',
    apply: withSession({ conditions: [labStopped] }, 'READY', 'RUNNING'),
    blocks: {
      'READY/RUNNING': ['manual', 'LabStopped', BLOCKED],
      'RUNNING/RUNNING': ['manual', 'LabStopped', BLOCKED],
    },
  },
  {
    name: 'its lab could not be started again',
    apply: withSession(
      { pipeline: at('instantiate', 'lab_start', { status: 'failed', error: 'no', started_at: BLOCKED }) },
      'READY',
      'RUNNING',
    ),
    blocks: {
      'READY/RUNNING': ['manual', 'lab_start', BLOCKED],
      'RUNNING/RUNNING': ['manual', 'lab_start', BLOCKED],
    },
  },
  {
    name: 'its lab is being started again',
    apply: withSession(
      {
        conditions: [labStopped],
        pipeline: at('instantiate', 'lab_start', { status: 'running', started_at: BLOCKED }),
      },
      'READY',
      'RUNNING',
    ),
    blocks: {
      'READY/RUNNING': ['restart_lab', 'lab_start', BLOCKED],
      'RUNNING/RUNNING': ['restart_lab', 'lab_start', BLOCKED],
    },
  },
  {
    name: 'its slot is over',
    apply: facts => ({
      ...facts,
      nowMs: END + 60_000,
      services: SERVICES.map(({ service }) => leading(service, END + 60_000)),
    }),
    blocks: overSlot,
  },
]

const FULFILLED: readonly SessionNextCode[] = ['idle', 'begin', 'use']
const words = (nowMs: number) => ({ nowMs, duration: (ms: number) => `${ms / 1000}s` })

describe.each(ROWS)('$name', ({ apply, blocks }) => {
  it.each(CELLS)('%s', cell => {
    const [status, desired] = cell.split('/') as [SessionStatus, (typeof DESIRED)[number]]
    const facts = apply(factsIn(status, desired))
    const next = nextOfSession(facts)
    const [code, blockedBy, since] = blocks[cell] ?? UNBLOCKED[cell]
    expect([next.next, next.blocked_by?.code ?? null, next.since]).toEqual([code, blockedBy, since])
    const text = sessionNextText(next, words(facts.nowMs))
    if (code !== 'idle') expect(text).not.toMatch(/nothing|done/i)
    if (blockedBy === null) return
    expect(text).toContain(next.blocked_by?.reason.message)
    expect(text).toContain(`${(facts.nowMs - toMs(since ?? '')) / 1000}s`)
  })
})

it('tells no next check of what only a person or a machine ends: the plan is due when the timeslot ends', () => {
  const plan = { service: 'lablet-controller', resource: 'session:ls-1', action: 'wait', due_at: toInstant(END) }
  const stopped = { ...factsIn('RUNNING', 'RUNNING'), plan: { ...plan, because: reason('session_in_use') } }
  const text = (facts: SessionNextFacts) => sessionNextText(nextOfSession(facts), words(facts.nowMs))
  expect(text({ ...stopped, session: { ...stopped.session, conditions: [labStopped] } })).not.toContain('next check')
  expect(text(stopped)).toMatch(/^keep its lab up until its timeslot ends in [0-9]+s$/)
})

it('covers every status, every desired status and every next step', () => {
  expect(CELLS.toSorted()).toEqual(
    SESSION_STATUSES.flatMap(status => DESIRED.map(desired => `${status}/${desired}`)).toSorted(),
  )
  const named = ROWS.flatMap(({ blocks }) =>
    [...Object.values(blocks), ...Object.values(UNBLOCKED)].map(([code]) => code),
  )
  expect([...new Set(named)].toSorted()).toEqual([...SESSION_NEXT_CODES].toSorted())
})

it('a session that is not READY, or ends, is never idle: what blocks it is named, and since when', () => {
  const instant = fc.integer({ min: -7_200_000, max: 7_200_000 }).map(ms => toInstant(NOW + ms))
  const past = fc.integer({ min: 0, max: 7_200_000 }).map(ms => toInstant(NOW - ms))
  const pipeline = fc.constantFrom(
    null,
    UP,
    at('instantiate', 'tags', {}),
    at('teardown', 'stop', { status: 'blocked' }),
  )
  const session = fc
    .record({
      status: fc.constantFrom(...SESSION_STATUSES),
      desired_status: fc.constantFrom(...DESIRED),
      entered_status_at: past,
      updated_at: past,
      waiting_reason: fc.constantFrom(null, reason('no_workers'), unschedulable(reason('no_template_enabled'))),
      last_error: fc.constantFrom(null, 'an error'),
      pipeline,
      conditions: fc.subarray([labStopped]),
      worker_id: fc.constantFrom(null, 'w-1'),
      start: instant,
    })
    .map(({ start, ...more }) => aSession({ ...more, timeslot: { start, end: toInstant(toMs(start) + 3_600_000) } }))
  const facts = fc.record({
    session,
    worker: fc.constantFrom(null, booting, aServingWorker()),
    decisions: fc.constant([]),
    plan: fc.constant(null),
    services: fc.constantFrom([], SERVICES),
    nowMs: fc.constant(NOW),
  })
  fc.assert(
    fc.property(facts, given => {
      const { status, desired_status, timeslot } = given.session
      const next = nextOfSession(given)
      const isUp = status === 'READY' || status === 'RUNNING'
      const mayRest = isUp && desired_status === 'RUNNING' && toMs(timeslot.end) > NOW
      const isOver = status === 'ARCHIVED' || (status === 'TERMINATED' && desired_status === 'TERMINATED')
      if (next.next === 'idle') expect(isOver).toBe(true)
      else if (FULFILLED.includes(next.next)) expect(mayRest).toBe(true)
      else expect(next.blocked_by).not.toBeNull()
    }),
    { numRuns: 2_000 },
  )
})
