import { down } from '@lcm/domain/health'
import { toInstant } from '@lcm/domain/instant'
import type { DecisionRecord } from '@lcm/domain/journal-records'
import { reason, textReason } from '@lcm/domain/reason'
import { LAB_RESTORED } from '@lcm/domain/save/restore'
import { LAB_STOPPED, type LabletSession } from '@lcm/domain/session/lablet-session'
import { momentText } from '@lcm/domain/text/format-amounts'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import {
  aDefinition,
  anInstantiatingSession,
  aReadySession,
  aRunningWorker,
  aSession,
  aWorker,
  START_MS,
} from '../testing/resource-builders.ts'

const at = (secondsAgo: number) => toInstant(START_MS - secondsAgo * 1000)
const aDecision = (more: Partial<DecisionRecord>): DecisionRecord => ({
  id: 'd-1',
  at: at(20),
  service: 'worker-controller',
  epoch: 3,
  resource: 'worker:w-0abcdefgh0001',
  action: 'wait',
  because: textReason('CML answered 502'),
  cause: 'timer',
  seen: {},
  guards: [],
  outcome: '',
  duration_ms: 3,
  ...more,
})

it('explains a boot: reason, next step and decisions', async () => {
  const { shell, api, outLines } = capturedShell()
  api.put(
    aWorker({
      status: 'STARTING',
      entered_status_at: at(240),
      state_history: [{ from: 'PROVISIONING', to: 'STARTING', at: at(240), because: textReason('EC2 says running') }],
      desired_by: 'ann',
      desired_reason: 'class at nine',
      desired_until: toInstant(START_MS + 3_600_000),
    }),
  )
  api.decide(
    aDecision({ guards: [{ name: 'ready_answers', value: 1, limit: 3, passed: false }] }),
    aDecision({
      id: 'd-2',
      at: at(240),
      action: 'write',
      because: textReason('EC2 says running'),
      outcome: 'PROVISIONING -> STARTING',
    }),
  )
  api.plan('worker-controller', {
    resource: 'worker:w-0abcdefgh0001',
    action: 'wait',
    because: textReason('CML answered 502'),
    due_at: toInstant(START_MS + 10_000),
  })
  expect(await run(['why', 'worker', 'metal-1'], shell)).toBe(0)
  expect(outLines()).toEqual([
    'metal-1 has been STARTING for 4m.',
    '',
    'Why',
    '  It became STARTING because EC2 says running.',
    '  worker-controller decided to wait 20s ago: CML answered 502.',
    '    no  ready answers: 1 (required: at least 3)',
    '',
    'Desired',
    "  RUNNING by ann: class at nine, since 0s ago; policies can't change this for another 1h",
    '',
    'Next',
    '  finish its boot; for 4m now: waiting for EC2 to report the instance as running; next check in 10s',
    '',
    'Decisions, newest first',
    '  20s     wait                CML answered 502',
    '  4m      noted               EC2 says running -> PROVISIONING -> STARTING',
  ])
})

it('shows the pause of an idle worker and how to start it again', async () => {
  const { shell, api, outLines } = capturedShell()
  api.put(
    aRunningWorker({
      status: 'STOPPED',
      desired_status: 'STOPPED',
      desired_by: 'idle',
      pause: { ...aWorker().pause, reason: textReason('idle'), by: 'idle' },
      conditions: [{ type: 'TagsChanged', status: true, reason: textReason('a tag is gone'), since: at(60) }],
    }),
  )
  expect(await run(['why', 'worker', 'metal-1'], shell)).toBe(0)
  expect(outLines()).toContain('  TagsChanged for 1m: a tag is gone')
  expect(outLines()).toContain('  lcm start worker metal-1    start it again')
  expect(outLines()).toContain('  nothing to do: STOPPED, as requested')
})

it('prints the API response as JSON, and refuses an invalid count', async () => {
  const { shell, api, out } = capturedShell()
  api.put(aRunningWorker())
  api.decide(aDecision({}), aDecision({ id: 'd-2', at: at(21) }))
  expect(await run(['why', 'worker', 'metal-1', '-n', '1', '--json'], shell)).toBe(0)
  expect(JSON.parse(out())).toMatchObject({ worker: { name: 'metal-1' }, decisions: [{ id: 'd-1' }], plan: null })
  expect(JSON.parse(out()).decisions.length).toBe(1)
  expect(await run(['why', 'worker', 'metal-1', '-n', 'many'], capturedShell().shell)).toBe(2)
})

it('tells learners what they can do with their session, and not how LCM decides', async () => {
  const { shell, api, outLines } = capturedShell()
  const { end } = aSession().timeslot
  api.actAs({ id: 'bob', name: 'bob', role: 'user' })
  const why = async (session: LabletSession) => {
    api.sessions.put({ ...session, owner: 'bob' })
    const before = outLines().length
    expect(await run(['why', 'session', 'ls-1'], shell)).toBe(0)
    return outLines().slice(before)
  }
  expect(await why(aReadySession({ status: 'RUNNING' }))).toEqual([
    'ls-1 of two-routers is RUNNING.',
    '',
    'Now',
    `  You can use your lab until ${momentText(end)}.`,
    '',
    'Timeslot',
    expect.stringContaining(momentText(end)),
    '',
    'What you can do',
    '  lcm describe session ls-1    show how to connect',
  ])
  expect(await why(aSession({ status: 'STOPPING' }))).toContain(
    '  Your session is ending and its lab is being removed.',
  )
  const health = down(reason('session_starts_elsewhere'), end)
  expect((await why(aSession({ status: 'SCHEDULED', health }))).join('\n')).toContain('Your lab is moving to another')
})

it('names a lab without its saved work as a problem, but not a lab with it', async () => {
  const { shell, api, outLines } = capturedShell()
  const because = reason('lab_restored', { save: 'sv-1', saved_at: toInstant(START_MS), refused: [], added: [] })
  const restored = { type: LAB_RESTORED, status: true, reason: because, since: toInstant(START_MS) }
  api.sessions.put(aReadySession({ conditions: [restored] }))
  expect(await run(['why', 'session', 'ls-1'], shell)).toBe(0)
  expect(outLines()).not.toContain('Problems')
  const lost = { ...restored, status: false, reason: reason('lab_not_restored', { refused: [] }) }
  api.sessions.change('ls-1', { conditions: [lost] })
  expect(await run(['why', 'session', 'ls-1'], shell)).toBe(0)
  expect(outLines()).toContain('Problems')
})

it('shows when a future session is placed, rather than that it waits', async () => {
  const { shell, api, outLines } = capturedShell()
  api.sessions.put(aSession())
  const because = 'it is given a place 35 min before it begins'
  const place = { action: 'place', because: textReason(because), due_at: '2026-01-01T05:00:00.000Z' }
  api.plan('resource-scheduler', { resource: 'session:ls-1', ...place })
  expect(await run(['why', 'session', 'ls-1'], shell)).toBe(0)
  expect(outLines()).toContain(`  place it on a worker in 5h; for 0s now: ${because}`)
})

it('explains a session that is not placed', async () => {
  const { shell, api, outLines } = capturedShell()
  api.sessions.put(aSession({ waiting_reason: textReason('waits for metal-2'), entered_status_at: at(240) }))
  api.decide(
    aDecision({
      service: 'resource-scheduler',
      resource: 'session:ls-1',
      because: textReason('metal-2 is on its way'),
    }),
  )
  expect(await run(['why', 'session', 'ls-1'], shell)).toBe(0)
  expect(outLines()).toEqual([
    'ls-1 of two-routers 1.0.0 has been PENDING for 4m.',
    '',
    'Why',
    '  It became PENDING because ann booked it.',
    '  resource-scheduler decided to wait 20s ago: metal-2 is on its way.',
    '',
    'Desired',
    '  RUNNING by ann; 2026-01-01 00:00 UTC to 2026-01-01 01:00 UTC, started 0s ago, ends in 1h',
    '',
    'Next',
    '  place it on a worker; blocked for 4m: waits for metal-2',
    '',
    'What you can do',
    '  lcm preview definition two-routers    show whether a machine is free now',
    '  lcm cancel session ls-1    cancel it',
    '',
    'Decisions, newest first',
    '  20s     wait                metal-2 is on its way',
  ])
})

it('says that a session has lost its promised capacity, and so do its description and the list', async () => {
  const { shell, api, out } = capturedShell()
  const at_risk = reason('capacity_lost', { since: at(0), cause: textReason('no template is enabled') })
  const admission = { ...aSession().admission, kind: 'admitted', at_risk } as const
  api.sessions.put(aSession({ admission, waiting_reason: null }))
  for (const command of [
    ['why', 'session', 'ls-1'],
    ['describe', 'session', 'ls-1'],
    ['get', 'sessions'],
  ]) {
    const before = out().length
    expect(await run(command, shell)).toBe(0)
    expect(out().slice(before)).toContain('At risk: the capacity that it was promised is gone: no template is enabled')
  }
})

it('shows the next step of a session, its conditions and what to do', async () => {
  const { shell, api, outLines } = capturedShell()
  const { sessions } = api
  const why = async () => {
    const before = outLines().length
    expect(await run(['why', 'session', 'ls-1'], shell)).toBe(0)
    return outLines().slice(before)
  }
  sessions.put(anInstantiatingSession(3, { last_error: 'tags: CML refused it' }))
  api.plan('lablet-controller', {
    resource: 'session:ls-1',
    action: 'step',
    because: textReason('step tags is tried again'),
    due_at: toInstant(START_MS + 10_000),
  })
  api.decide(
    aDecision({
      service: 'lablet-controller',
      resource: 'session:ls-1',
      action: 'tags',
      because: textReason('CML refused it'),
    }),
  )
  const failing = await why()
  expect(failing).toContain('  lablet-controller performed step tags 20s ago: CML refused it.')
  expect(failing).toContain('  start its lab; for 0s now: step 4 of 7, tags; next check in 10s')
  expect(failing).toContain('  Last error: tags: CML refused it')
  expect(failing).toContain('  lcm retry session ls-1    start its lab again')
  api.plan('lablet-controller')
  const { pipeline } = aReadySession()
  sessions.change('ls-1', { status: 'RUNNING', last_error: null, pipeline })
  api.definitions.put(aDefinition({ max_duration_minutes: 300 }))
  const running = await why()
  expect(running).toContain('  keep its lab up until its timeslot ends in 1h')
  const since = toInstant(START_MS)
  const stopped = {
    type: LAB_STOPPED,
    status: true,
    reason: { code: 'stopped', message: 'a person stopped it', params: {} },
    since,
  }
  sessions.change('ls-1', { conditions: [stopped] })
  const labStopped = await why()
  expect(labStopped).toContain('  lcm retry session ls-1    restart its lab')
  expect(labStopped).toContain('  wait for a person to start its lab again; blocked for 0s: a person stopped it')
  sessions.change('ls-1', {
    conditions: [{ ...stopped, reason: { ...stopped.reason, code: 'lab_stopped_by_restart' } }],
  })
  expect(await why()).not.toContain('lcm retry session')
  expect(running).toContain('  lcm extend session ls-1 --minutes 30    extend it')
  sessions.change('ls-1', { status: 'TERMINATED', last_error: 'metal-1 is TERMINATED' })
  const ended = await why()
  expect(ended).toContain("  it can't run again: it ended before its time; 0s ago: metal-1 is TERMINATED")
  expect(ended).toContain('  lcm book two-routers    book another')
})

it.each([
  [300, 'lcm extend session ls-1 --minutes 30'],
  [80, 'lcm extend session ls-1 --minutes 20'],
  [60, null],
  [null, null],
])('suggests no longer extension than a definition of %s minutes allows', async (longest, advice) => {
  const { shell, api, out } = capturedShell()
  api.sessions.put(aReadySession({ status: 'RUNNING' }))
  if (longest !== null) api.definitions.put(aDefinition({ max_duration_minutes: longest }))
  expect(await run(['why', 'session', 'ls-1'], shell)).toBe(0)
  if (advice === null) expect(out()).not.toContain('lcm extend')
  else expect(out()).toContain(`  ${advice}    extend it\n`)
})

it('shows the requested number of decisions, even if some are grouped', async () => {
  const { shell, api, outLines } = capturedShell()
  api.put(aRunningWorker())
  for (const n of [1, 2, 3, 4]) {
    const because = `number ${n}`
    const seconds = 20 + n / 10
    api.decide(
      aDecision({ id: `d-${n}`, at: at(seconds), because: textReason(because) }),
      aDecision({ id: `d-${n}-write`, at: at(seconds + 0.05), because: textReason(because), action: 'write' }),
    )
  }
  const shown = async (...args: string[]) => {
    const before = outLines().length
    expect(await run(['why', 'worker', 'metal-1', ...args], shell)).toBe(0)
    const lines = outLines().slice(before)
    return lines.slice(lines.indexOf('Decisions, newest first') + 1).map(line => line.replace(/ {2,}/g, ' ').trim())
  }
  expect(await shown('-n', '2')).toEqual(['20s noted number 1', '20s noted number 2'])
  expect(await shown('-n', '3')).toHaveLength(3)
  expect(await shown('-n', '50')).toHaveLength(4)
  expect(await shown('-n', '3', '-v')).toEqual(['20s wait number 1', '20s noted number 1', '20s wait number 2'])
})

it('prints the API response about a session as JSON', async () => {
  const { shell, api, out } = capturedShell()
  api.sessions.put(aSession())
  expect(await run(['why', 'session', 'ls-1', '--json'], shell)).toBe(0)
  expect(JSON.parse(out())).toEqual({
    session: aSession(),
    decisions: [],
    plan: null,
    next: expect.objectContaining({
      next: 'place',
      blocked_by: expect.objectContaining({ code: 'NotDecidedYet' }),
      since: aSession().entered_status_at,
    }),
  })
  expect(await run(['why', 'session', 'ls-2'], shell)).toBe(3)
})

it('names what blocks a worker that has not reached its desired status', async () => {
  const { shell, api, outLines } = capturedShell()
  api.put(
    aRunningWorker({ desired_status: 'STOPPED', desired_by: 'ann', desired_at: at(120), entered_status_at: at(900) }),
  )
  const why = async () => {
    const before = outLines().length
    expect(await run(['why', 'worker', 'metal-1'], shell)).toBe(0)
    return outLines().slice(before)
  }
  api.decide(
    aDecision({
      id: 'd-0',
      at: at(7200),
      action: 'nothing',
      because: textReason('running as desired'),
      seen: { ec2: 'running' },
    }),
  )
  const lines = await why()
  expect(lines).toContain('  stop its instance; for 2m now: worker-controller has not made a decision yet')
  expect(lines).toContain('  worker-controller made no change 2h ago: running as desired.')
  expect(lines.join()).not.toMatch(/nothing/i)
  api.decide(
    aDecision({ at: at(10), because: textReason('EC2 answered 503'), seen: { ec2: 'unknown' } }),
    aDecision({ id: 'd-2', at: at(300), because: textReason('EC2 did not answer'), seen: { ec2: 'unknown' } }),
  )
  expect(await why()).toContain('  stop its instance; blocked for 5m: EC2 answered 503')
  api.setReplicas()
  expect(await why()).toContain('  stop its instance; blocked for 10s: no worker-controller is running')
})
