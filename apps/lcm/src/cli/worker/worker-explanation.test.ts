import { toInstant } from '@lcm/domain/instant'
import type { DecisionRecord } from '@lcm/domain/journal-records'
import { reason, textReason } from '@lcm/domain/reason'
import { withBoot } from '@lcm/domain/worker/boot-stages'
import { CML_REASONS } from '@lcm/domain/worker/decision/cml-access'
import type { Condition, Worker } from '@lcm/domain/worker/worker'
import { nextOfWorker } from '@lcm/domain/worker/worker-next-step'
import { describe, expect, it } from 'vitest'
import { makeOutput } from '../terminal/output.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aLaunch, aRunningWorker, aWorker, START_MS } from '../testing/resource-builders.ts'
import { type Explained, explainWorker } from './worker-explanation.ts'

const nowMs = START_MS + 3_600_000
const ago = (seconds: number) => toInstant(nowMs - seconds * 1000)
const { colors } = makeOutput({ ...capturedShell().shell, color: false, quiet: false })
const decision = (more: Partial<DecisionRecord>): DecisionRecord => ({
  id: 'd-1',
  at: ago(20),
  service: 'worker-controller',
  epoch: 3,
  resource: 'worker:w-0abcdefgh0001',
  action: 'wait',
  because: textReason('EC2 says pending'),
  cause: 'timer',
  seen: {},
  guards: [],
  outcome: '',
  duration_ms: 3,
  ...more,
})
const plan = (dueInSeconds: number, because = 'EC2 says pending') => ({
  service: 'worker-controller',
  resource: 'worker:w-0abcdefgh0001',
  action: 'wait',
  because: textReason(because),
  due_at: toInstant(nowMs + dueInSeconds * 1000),
})
const explain = (worker: Worker, more: Partial<Omit<Explained, 'worker' | 'next'>> = {}, isVerbose = false) => {
  const known = { worker, decisions: [], plan: null, planned: [], ...more }
  const next = nextOfWorker({ ...known, controller: null, nowMs })
  return explainWorker({ ...known, next }, { nowMs, isVerbose }, colors)
}
/** The lines below a title, without their indent. */
function part(lines: readonly string[], title: string): string[] {
  const from = lines.indexOf(title)
  if (from === -1) return []
  const rest = lines.slice(from + 1)
  const end = rest.indexOf('')
  return rest.slice(0, end === -1 ? rest.length : end).map(line => line.slice(2))
}
const blocked = (code: string, message: string): Condition => ({
  type: 'LaunchBlocked',
  status: true,
  reason: { code, message, params: {} },
  since: ago(300),
})

it('shows who created the worker, and when', () => {
  const state_history = [{ from: null, to: 'PENDING', at: ago(6), because: reason('worker_created') }] as const
  const worker = aWorker({ state_history: [...state_history], desired_by: 'admin', desired_reason: 'created' })
  expect(part(explain(worker), 'Why')).toEqual(['It was created by admin 6s ago.'])
  const other = { ...worker, desired_by: 'ann', desired_reason: 'not now' }
  expect(part(explain(other), 'Why')).toEqual(['It was created 6s ago.'])
})

describe('the next step', () => {
  const worker = aWorker({ status: 'STARTING', conditions: withBoot([], 2, nowMs) })
  const waits = 'finish its boot; for 0s now: waiting for the CML web server to speak TLS'

  it('is what the worker waits for, and the time of the next check', () => {
    expect(part(explain(worker, { plan: plan(4) }), 'Next')).toEqual([`${waits}; next check in 4s`])
  })

  it('ignores a stale plan', () => {
    expect(part(explain(worker, { plan: plan(-2) }), 'Next')).toEqual([waits])
    expect(part(explain(worker), 'Next')).toEqual([waits])
  })
})

it('does not repeat a note as a wait', () => {
  const decisions = [
    decision({ because: textReason('a') }),
    decision({ action: 'write', because: textReason('a') }),
    decision({ because: textReason('b') }),
  ]
  expect(part(explain(aWorker(), { decisions }), 'Decisions, newest first')).toEqual([
    '20s     noted               a',
    '20s     wait                b',
  ])
  expect(part(explain(aWorker(), { decisions }, true), 'Decisions, newest first')).toHaveLength(3)
})

it('shows a note without calling it a decision', () => {
  const because = 'its boot is at stage 3 of 6, waiting for the CML web server to speak TLS: connection refused'
  const worker = aWorker({
    status: 'STARTING',
    state_history: [{ from: 'PROVISIONING', to: 'STARTING', at: ago(60), because: textReason('EC2 says running') }],
  })
  const lines = explain(worker, { decisions: [decision({ action: 'write', because: textReason(because) })] })
  expect(part(lines, 'Why')).toEqual(['It became STARTING because EC2 says running.', `Since then: ${because}.`])
  expect(lines.join()).not.toContain('record')
})

describe('without capacity', () => {
  const message = 'no capacity for m5zn.metal, m5.metal in subnet-a, subnet-b; retried every 3 min'
  const scarce = blocked('ec2_no_capacity', message)
  const text = `RunInstances: InsufficientInstanceCapacity: ${'We currently do not have sufficient capacity. '.repeat(5)}`
  const worker = aWorker({
    conditions: [scarce],
    launch: aLaunch({ n: 3, state: 'refused', error: text }),
  })
  const lines = explain(worker, {
    plan: plan(90),
    decisions: [decision({ because: scarce.reason }), decision({ because: textReason(text) })],
  })

  it('reports it once above the decisions, without repeating the text of AWS', () => {
    const above = lines.slice(0, lines.indexOf('Decisions, newest first')).join('\n')
    expect(above.split('no capacity for').length - 1).toBe(1)
    expect(part(lines, 'Next')).toEqual([`launch its instance; blocked for 5m: ${message}; next check in 1m30s`])
    expect(part(lines, 'Problems')).toEqual([])
    expect(lines.join('\n')).not.toContain('..')
    for (const line of lines) expect(line.length).toBeLessThan(160)
  })

  it('shows what to do', () => {
    expect(part(lines, 'What you can do')).toEqual([
      'lcm get template metal -o yaml                        check its instance types and subnets; add others to widen the search',
      'lcm create worker --template metal --region REGION    try another region',
      'lcm terminate worker metal-1                          terminate it',
    ])
  })
})

it('shows what the operator must do when AWS refuses the whole account', () => {
  const message = 'You have requested more vCPU capacity.'
  const worker = aWorker({ conditions: [blocked('account_denied', message)] })
  const decisions = [decision({ action: 'launch', because: textReason('attempt 1 is open'), outcome: message })]
  expect(part(explain(worker, { decisions }), 'Why').slice(1)).toEqual([
    'worker-controller decided to launch 20s ago: attempt 1 is open.',
  ])
  expect(part(explain(worker), 'What you can do')).toEqual([
    'raise the quota or fix the permissions of the AWS account; LCM retries automatically',
    'lcm terminate worker metal-1    terminate it',
  ])
})

it('shows the consequences and the fix when CML rejects the login of LCM', () => {
  const message = "CML refuses LCM's login (Authentication failed!): LCM can't judge whether it is idle"
  const refused = { ...blocked(CML_REASONS.login, message), type: 'CmlAccessRefused' }
  const because = "CML refuses LCM's login, so the idle policy can't judge this worker"
  const worker = aRunningWorker({ conditions: [refused] })
  const lines = explain(worker, {
    decisions: [decision({ action: 'skipped_cannot_judge', because: textReason(because) })],
  })
  expect(part(lines, 'Why').join()).toContain("the idle policy can't judge this worker")
  expect(part(lines, 'Next').join()).toContain(message)
  const fix = 'set the right CML account with `lcm set credentials metal-1`, or correct CML_DEFAULT_PASSWORD'
  expect(part(lines, 'What you can do')).toEqual([fix])
  expect(lines.join('\n').split('lcm set credentials')).toHaveLength(2)
  const off = {
    ...refused,
    reason: { code: CML_REASONS.telemetry_off, message: 'telemetry is turned off in its CML', params: {} },
  }
  expect(part(explain(aRunningWorker({ conditions: [off] })), 'What you can do')).toEqual([
    'turn on telemetry in CML, or turn off idle detection for this worker',
  ])
})

it('shows that a machine needs an approval, and the command with the certificate to compare', () => {
  const cml = { ...aRunningWorker().cml, seen_certificate_sha256: 'ab'.repeat(32) }
  const found = { launch: null, service_status: 'UNAVAILABLE', cml } as const
  const lines = explain(aRunningWorker(found))
  expect(part(lines, 'Next').join()).toContain('LCM did not launch this machine')
  expect(part(lines, 'What you can do').join()).toContain(`lcm approve worker metal-1 --fingerprint ${'ab'.repeat(32)}`)
  const stopped = explain(aRunningWorker({ ...found, status: 'STOPPED', desired_status: 'STOPPED' }))
  expect(part(stopped, 'What you can do').join()).toMatch(/lcm start worker metal-1.*lcm approve worker metal-1/)
})

describe('paused for idleness', () => {
  const because = 'metal-1 was unused for 62 min, the limit is 60'
  const guards = [
    { name: 'idle_seconds', value: 3720, limit: 3600, passed: true },
    { name: 'running_workers', value: 1, limit: 0, passed: true },
  ]
  const worker = aRunningWorker({
    status: 'STOPPED',
    desired_status: 'STOPPED',
    desired_by: 'idle',
    desired_reason: because,
    pause: { ...aWorker().pause, reason: textReason('idle'), by: 'idle', last_paused_at: ago(122) },
    state_history: [
      { from: 'RUNNING', to: 'STOPPING', at: ago(121), because: textReason(`idle wants it STOPPED: ${because}`) },
      { from: 'STOPPING', to: 'STOPPED', at: ago(120), because: textReason('EC2 says stopped') },
    ],
  })
  const decisions = [decision({ action: 'pause', because: textReason(because), guards, at: ago(122) })]

  it('shows the actor, the reason and the confirmation of EC2', () => {
    expect(part(explain(worker, { decisions }), 'Why')).toEqual([
      `The idle policy paused it 2m2s ago: ${because}.`,
      'EC2 confirmed the stop after 2s.',
    ])
    expect(part(explain(worker, { decisions }), 'What you can do')).toEqual([
      'lcm start worker metal-1    start it again',
    ])
  })

  it('shows the guards with --verbose', () => {
    expect(part(explain(worker, { decisions }, true), 'Why')).toEqual([
      `The idle policy paused it 2m2s ago: ${because}.`,
      '  ok  idle seconds: 3720 (required: at least 3600)',
      '  ok  running workers: 1 (required: more than 0)',
      'EC2 confirmed the stop after 2s.',
    ])
  })
})

it('names the user who stopped the worker', () => {
  const worker = aRunningWorker({
    status: 'STOPPED',
    desired_status: 'STOPPED',
    state_history: [
      { from: 'RUNNING', to: 'STOPPING', at: ago(130), because: textReason('ann wants it STOPPED: class is over') },
      { from: 'STOPPING', to: 'STOPPED', at: ago(120), because: textReason('EC2 says stopped') },
    ],
  })
  expect(part(explain(worker), 'Why')).toEqual([
    'It became STOPPING because ann wants it STOPPED: class is over.',
    'EC2 confirmed the stop after 10s.',
  ])
})

it('shows what to do when the instance was terminated outside LCM', () => {
  const because = 'i-1 was terminated outside LCM; its disk is gone'
  const worker = aRunningWorker({
    status: 'TERMINATED',
    state_history: [{ from: 'RUNNING', to: 'TERMINATED', at: ago(60), because: textReason(because) }],
  })
  const lines = explain(worker)
  expect(part(lines, 'Why')).toEqual([`It became TERMINATED because ${because}.`])
  expect(part(lines, 'What you can do')).toEqual([
    'lcm create worker --template metal --name metal-1    replace it',
    'set replace_lost: true in template metal to replace lost workers automatically',
  ])
  expect(part(explain({ ...worker, desired_status: 'TERMINATED' }), 'What you can do')).toEqual([])
})

describe('an idle worker that is not paused', () => {
  const because = 'the last automatic stop was 30 s ago, and 600 s must pass'
  const guards = [
    { name: 'protected', value: false, limit: false, passed: true },
    { name: 'seconds_since_scale_down', value: 30, limit: 600, passed: false },
  ]
  const worker = aRunningWorker({
    state_history: [{ from: 'STARTING', to: 'RUNNING', at: ago(600), because: textReason('CML 2.9.1 is ready') }],
  })
  const explained = { decisions: [decision({ action: 'skipped_cooldown', because: textReason(because), guards })] }

  it('lists only the guards that prevented the pause', () => {
    const lines = explain(worker, explained)
    expect(part(lines, 'Why')).toEqual([
      'It became RUNNING because CML 2.9.1 is ready.',
      `It was not paused yet: ${because}.`,
      '  no  seconds since scale down: 30 (required: at least 600)',
    ])
    expect(part(lines, 'Decisions, newest first')).toEqual([`20s     not paused yet      ${because}`])
  })

  it('says nothing of the idle policy while the worker is in use', () => {
    const inUse = decision({ action: 'skipped_not_idle', because: textReason('last used or started 0 s ago') })
    expect(part(explain(worker, { decisions: [inUse] }), 'Decisions, newest first')).toEqual([])
    expect(part(explain(worker, { decisions: [inUse] }, true), 'Decisions, newest first')).toHaveLength(1)
    expect(part(explain(worker, { decisions: [inUse] }), 'Why')).toEqual([
      'It became RUNNING because CML 2.9.1 is ready.',
    ])
  })

  it('lists all guards with --verbose', () => {
    expect(part(explain(worker, explained, true), 'Why')).toContain('  ok  protected: false (required: false)')
  })
})

it('quotes names in commands so that they can be copied', () => {
  const failed = aWorker({ name: '$(old) lab', status: 'FAILED' })
  expect(part(explain(failed), 'What you can do')[0]).toBe("lcm retry worker '$(old) lab'        retry the failed step")
})
