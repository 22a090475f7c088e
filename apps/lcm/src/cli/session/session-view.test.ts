import { degraded } from '@lcm/domain/health'
import { toInstant, toMs } from '@lcm/domain/instant'
import { reason, textReason } from '@lcm/domain/reason'
import { type LabletSession, SESSION_STATUSES } from '@lcm/domain/session/lablet-session'
import { newPipeline } from '@lcm/domain/session/pipeline'
import { positionIn } from '@lcm/domain/session/pipeline-position'
import picocolors from 'picocolors'
import { describe, expect, it } from 'vitest'
import { tableLines } from '../terminal/table.ts'
import { anInstantiatingSession, aReadySession, aSession, START_MS } from '../testing/resource-builders.ts'
import { accessLines, distanceOf, learnersText, sessionColumns, stageOf, statusOf, waitsFor } from './session-view.ts'

const plain = picocolors.createColors(false)

/** The same session, whose current step says so. */
function saying(session: LabletSession, step: object): LabletSession {
  const position = positionIn(session)
  if (session.pipeline === null || position === null) throw new Error('it has no step')
  const { name, ...at } = position.step
  return {
    ...session,
    pipeline: { ...session.pipeline, steps: { ...session.pipeline.steps, [name]: { ...at, ...step } } },
  }
}

it('shows sessions as a table', () => {
  const sessions = [
    anInstantiatingSession(5),
    aSession({ id: 'ls-2', desired_status: 'TERMINATED', timeslot: { start: toInstant(START_MS + 600_000), end: '' } }),
  ]
  const lines = tableLines(sessionColumns(START_MS + 60_000, plain), sessions).map(line => line.slice(0, 117))
  expect(lines).toEqual([
    'ID     DEFINITION          OWNER   STATUS                  HEALTH   STAGE           WORKER            STARTS   ENDS  ',
    'ls-1   two-routers 1.0.0   Ann     INSTANTIATING           OK       converged 6/7   w-0abcdefgh0001   1m ago   in 59m',
    'ls-2   two-routers 1.0.0   Ann     PENDING -> TERMINATED   OK       -               -                 in 9m    0s ago',
  ])
})

it('shows what the session waits for, and a name if there is one', () => {
  const row = (more: Parameters<typeof aSession>[0]) =>
    tableLines(sessionColumns(START_MS, plain), [aSession(more)])[1] ?? ''
  const waiting_reason = 'it waits for metal-2, which has capacity again when the session ls-7 on it ends'
  expect(row({ waiting_reason: textReason(waiting_reason) })).toMatch(new RegExp(` ${waiting_reason}$`))
  const names = { of: () => 'metal-1', find: () => null, learn: () => undefined }
  expect(waitsFor(aSession({ status: 'SCHEDULED', worker_id: 'w-1' }), names)).toBe(
    'placed on metal-1, waiting for its start time',
  )
  expect(tableLines(sessionColumns(START_MS, plain, { names, isLearner: false }), [aReadySession()])[1]).toContain(
    ' metal-1 ',
  )
})

it('shows what is wrong, in full, and what learners can do', () => {
  const because = reason('lab_state_unknown', { worker: 'metal-1', status: 'RUNNING' })
  const session = aReadySession({ status: 'RUNNING', health: degraded(because, toInstant(START_MS)) })
  const [, row] = tableLines(sessionColumns(START_MS, plain), [session])
  expect(row).toMatch(/ RUNNING +DEGRADED /)
  expect(row).toMatch(/ CML on metal-1 .*$/)
  expect(row).not.toContain('…')
  expect(waitsFor(session)).toBe(because.message)
  const late = aSession({ waiting_reason: reason('no_machine_free') })
  expect(learnersText(late, toMs(late.timeslot.start) + 60_000)).toBe(
    'No machine is free yet. Your lab starts as soon as one is. LCM keeps trying until 01:00 UTC.',
  )
  expect(learnersText(aReadySession(), START_MS)).toBeNull()
})

it('shows a finished session as ended, regardless of its slot', () => {
  const over = { status: 'TERMINATED', entered_status_at: toInstant(START_MS + 60_000) } as const
  const ended = (more: object) =>
    tableLines(sessionColumns(START_MS + 120_000, plain), [aSession({ ...over, ...more })])[1] ?? ''
  expect(ended({})).toMatch(/ 2m ago +1m ago /)
  const [start, end] = [toInstant(START_MS + 600_000), toInstant(START_MS + 900_000)]
  expect(ended({ timeslot: { start, end } })).toMatch(/ - +1m ago /)
})

it('shows a pending cancellation until the session is over', () => {
  expect(statusOf(aReadySession({ desired_status: 'TERMINATED' }))).toBe('READY -> TERMINATED')
  expect(statusOf(aSession({ status: 'TERMINATED', desired_status: 'TERMINATED' }))).toBe('TERMINATED')
  expect(statusOf(aSession({ status: 'ARCHIVED' }))).toBe('ARCHIVED')
})

describe('what a session waits for', () => {
  it('is the reason of the scheduler while the session is not placed', () => {
    expect(waitsFor(aSession())).toBe('waiting for placement')
    expect(waitsFor(aSession({ waiting_reason: textReason('waits for metal-2') }))).toBe('waits for metal-2')
  })

  it('is a step of its pipeline', () => {
    expect(waitsFor(anInstantiatingSession(0))).toBe('step 1 of 7, lab_resolve')
    expect(stageOf(anInstantiatingSession(0))).toBe('lab_resolve 1/7')
    const taken = aSession({ status: 'STOPPING', pipeline: newPipeline('teardown', 1) })
    expect([waitsFor(taken), stageOf(taken)]).toEqual(['step 1 of 6, save', 'save 1/6'])
  })

  it('shows the booted nodes, the attempt and the error', () => {
    const converging = saying(anInstantiatingSession(5), { output: { booted: 1, nodes: 3 } })
    expect(waitsFor(converging)).toBe('step 6 of 7, converged, 1 of 3 nodes booted')
    const failing = aSession({ status: 'INSTANTIATING', pipeline: newPipeline('instantiate', 2) })
    expect(waitsFor(saying(failing, { error: 'CML answers 500' }))).toBe(
      'step 1 of 7, lab_resolve, attempt 2, CML answers 500',
    )
  })

  it('has a text for every status except settled ones', () => {
    const silent = SESSION_STATUSES.filter(status => waitsFor(aSession({ status })) === '')
    expect(silent).toEqual(['RUNNING', 'ARCHIVED', 'TERMINATED'])
    expect(waitsFor(aSession({ status: 'TERMINATED', last_error: 'the lab was removed' }))).toBe('the lab was removed')
  })

  it('is no step once all are done', () => {
    expect(positionIn(aReadySession())).toBeNull()
    expect(positionIn(aSession())).toBeNull()
    expect(waitsFor(aReadySession({ status: 'INSTANTIATING' }))).toBe('its lab is running')
    expect(waitsFor(aSession({ status: 'INSTANTIATING' }))).toBe('its lab will be started')
  })
})

it('shows the name of the owner, or the id if no name is known', () => {
  const shown = (more: object) => tableLines(sessionColumns(START_MS, plain), [aSession(more)]).at(-1)
  expect(shown({ owner: 'token:tk-1', owner_name: 'ci' })).toContain('   ci   ')
  expect(shown({ owner: 'token:tk-1', owner_name: '' })).toContain('   token:tk-1   ')
})

it('lists the access addresses as host and port', () => {
  expect(accessLines(aReadySession())).toEqual([
    'NAME         NODE   PROTOCOL   OPEN WITH',
    'r1_serial    r1     serial     telnet 203.0.113.7 2000',
    'web_tcp_80   web    tcp        http://203.0.113.7:2001',
  ])
  expect(accessLines(aSession())).toEqual([])
})

it('measures times before and after now', () => {
  expect(distanceOf(toInstant(START_MS + 90_000), START_MS)).toBe('in 1m30s')
  expect(distanceOf(toInstant(START_MS - 5_000), START_MS)).toBe('5s ago')
})
