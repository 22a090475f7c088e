import { toInstant } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { UNTOUCHED } from '@lcm/domain/session/lablet-session'
import { newPipeline } from '@lcm/domain/session/pipeline'
import picocolors from 'picocolors'
import { expect, it } from 'vitest'
import { anInstantiatingSession, aReadySession, aSession, START_MS } from '../testing/resource-builders.ts'
import { describeSession } from './session-description.ts'

const plain = picocolors.createColors(false)
const at = (seconds: number) => toInstant(START_MS + seconds * 1000)

it('describes a session with a running lab completely', () => {
  const session = aReadySession({
    status: 'RUNNING',
    entered_status_at: at(60),
    reservation_id: 'R-17',
    conditions: [
      {
        type: 'LabStopped',
        status: true,
        reason: { code: 'stopped', message: 'a person stopped it', params: {} },
        since: at(90),
      },
    ],
    state_history: [
      { from: null, to: 'PENDING', at: at(0), because: textReason('ann booked it') },
      { from: 'READY', to: 'RUNNING', at: at(60), because: textReason('its slot has begun') },
    ],
  })
  expect(
    describeSession(
      { session, workerLabel: 'metal-1 (w-1)', save: null, isForLearner: false },
      START_MS + 120_000,
      plain,
    ),
  ).toEqual([
    'two-routers 1.0.0  ls-1',
    '  status     RUNNING for 1m',
    '  health     OK',
    '  timeslot   2026-01-01 00:00 UTC to 2026-01-01 01:00 UTC, started 2m ago, ends in 58m',
    '  capacity   Best effort: it gets the capacity that promised sessions leave',
    '  owner      Ann (ann)',
    '  desired    RUNNING by ann',
    '  worker     metal-1 (w-1)',
    '  lab        lr-1',
    '  needs      2 CPU, 4 GB, 2 nodes',
    '  reserved   R-17',
    '  created    2m ago',
    '  version    1',
    '',
    'Access',
    '  NAME         NODE   PROTOCOL   OPEN WITH',
    '  r1_serial    r1     serial     telnet 203.0.113.7 2000',
    '  web_tcp_80   web    tcp        http://203.0.113.7:2001',
    '',
    'Steps of instantiate',
    '  ✓ lab_resolve    10s',
    '  ✓ bind           10s',
    '  ✓ ports_alloc    10s',
    '  ✓ tags           10s',
    '  ✓ lab_start      10s',
    '  ✓ converged      10s',
    '  ✓ mark_ready     10s',
    '',
    'Conditions',
    '  TYPE         STATUS   FOR   REASON    MESSAGE',
    '  LabStopped   true     30s   stopped   a person stopped it',
    '',
    'History, newest first',
    '  1m      READY -> RUNNING           its slot has begun',
    '  2m      PENDING                    ann booked it',
  ])
})

it('marks the current step and those not reached', () => {
  const { pipeline } = anInstantiatingSession(5)
  if (pipeline === null) throw new Error('it has no pipeline')
  const output = { booted: 0, nodes: 1, waits_for: 'r1 (BOOTING)' }
  const converged = { ...UNTOUCHED, status: 'running' as const, attempts: 2, started_at: at(50), output }
  const steps = { ...pipeline.steps, converged }
  const session = aSession({ status: 'INSTANTIATING', pipeline: { ...pipeline, attempt: 2, steps } })
  const lines = describeSession(
    { session, workerLabel: null, save: null, isForLearner: false },
    START_MS + 70_000,
    plain,
  )
  const title = lines.indexOf('Steps of instantiate, attempt 2')
  expect(lines.slice(title + 5, title + 8)).toEqual([
    '  ✓ lab_start      10s',
    '  … converged      for 20s   try 2, waiting for r1 (BOOTING)',
    '    mark_ready',
  ])
})

it('shows why a step failed', () => {
  const pipeline = newPipeline('instantiate', 1)
  const failed = {
    ...UNTOUCHED,
    status: 'failed' as const,
    started_at: at(0),
    ended_at: at(5),
    error: 'CML refused it',
  }
  const steps = { ...pipeline.steps, lab_resolve: failed, bind: { ...UNTOUCHED, status: 'skipped' as const } }
  const lines = describeSession(
    { session: aSession({ pipeline: { ...pipeline, steps } }), workerLabel: null, save: null, isForLearner: false },
    START_MS,
    plain,
  )
  expect(lines).toContain('  ✗ lab_resolve    5s        CML refused it')
  expect(lines).toContain('  - bind                     skipped')
})

it('escapes control characters', () => {
  const session = aSession({ waiting_reason: textReason('evil \u001b[2J'), last_error: '\u001b[2J' })
  expect(
    describeSession({ session, workerLabel: '\u001b', save: null, isForLearner: false }, START_MS, plain).join('\n'),
  ).not.toContain('\u001b')
})
