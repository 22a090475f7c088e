import { apiClient } from '@lcm/client/client'
import { heldFrom } from '@lcm/domain/calendar/worker-ledger'
import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason, textReason } from '@lcm/domain/reason'
import { CML_REASONS } from '@lcm/domain/worker/decision/cml-access'
import { manualClock } from '@lcm/testkit/manual-clock'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { type Finding, failure, firstOf } from './finding.ts'
import { type ApiFacts, judgeApi, judgeClock, judgeHealth, judgeToken } from './judge-api.ts'
import { judgeAws } from './judge-aws.ts'
import { judgeCml } from './judge-cml.ts'
import { isAboutOneOf, judgeServices, readServices } from './judge-services.ts'
import { judgeEtcd, judgeStore, unknownEtcd } from './judge-store-and-etcd.ts'
import { withTimeout } from './timeout.ts'

const NOW_MS = Date.parse('2026-01-01T12:00:00Z')
const brief = (findings: readonly Finding[]) => findings.map(({ severity, message }) => `${severity}: ${message}`)

const INFO = {
  version: '1.0.0',
  profile: 'cluster' as const,
  cloud: 'aws' as const,
  regions: ['us-east-1'],
  sim_control: null,
  actor: { id: 'tk-1', name: 'ci', role: 'operator' as const },
}
const API: ApiFacts = {
  url: 'http://lcm',
  hasToken: true,
  answer: { kind: 'known', info: INFO },
  skew: null,
  waitsFor: null,
  problems: [],
}

it('reports the API that responds, what it waits for, and a version mismatch', () => {
  expect(brief(judgeApi(API, '1.0.0'))).toEqual(['ok: LCM 1.0.0 responds at http://lcm: cluster, on AWS in us-east-1'])
  expect(brief(judgeApi({ ...API, waitsFor: 'the store: it does not respond' }, '2.0.0'))).toEqual([
    'warning: LCM 1.0.0 responds at http://lcm: cluster, on AWS in us-east-1, but this lcm is 2.0.0',
    'failure: the API is not ready: it is waiting for the store: it does not respond',
  ])
  const gone: ApiFacts = {
    ...API,
    answer: { kind: 'unreachable', message: 'http://lcm does not respond', advice: 'start it' },
  }
  expect(judgeApi(gone, '1.0.0')).toEqual([failure('api', 'http://lcm does not respond', 'start it')])
  expect(judgeToken(gone)).toBeNull()
})

it('distinguishes an invalid token from a missing one', () => {
  const refused: ApiFacts = { ...API, answer: { kind: 'refused', status: 401, detail: 'unknown' } }
  expect(judgeToken(API)?.message).toBe('authenticated as ci with role operator')
  expect(judgeToken(refused)).toMatchObject({
    severity: 'failure',
    message: expect.stringContaining('the token is invalid'),
  })
  expect(judgeToken({ ...refused, hasToken: false })?.message).toBe('no token is set')
})

it.each([
  [0, 500, 'ok'],
  [4_000, 500, 'ok'],
  [20_000, 500, 'warning'],
  [20_000, 30_000, 'ok'],
  [-600_000, 500, 'failure'],
])('rates a clock that is %i ms ahead, with an uncertainty of %i ms, as %s', (ms, uncertaintyMs, severity) => {
  expect(judgeClock('the API', { ms, uncertaintyMs }).severity).toBe(severity)
})

it('reports whether the other clock is ahead or behind', () => {
  const message = (ms: number) => judgeClock('AWS', { ms, uncertaintyMs: 0 }).message
  expect(message(600_000)).toBe('the clock of AWS is 10m ahead of the local clock')
  expect(message(-600_000)).toBe('the clock of AWS is 10m behind the local clock')
})

const instance = (more: object = {}) => ({
  id: 'x:a',
  service: 'x',
  instance_id: 'a',
  is_leader: true,
  epoch: 1,
  since: toInstant(NOW_MS - 60_000),
  software: '1.0.0',
  queue: { due: 0, active: 0 },
  retries: 0,
  watch: { healthy: true, age_seconds: 1 },
  last_sweep: toInstant(NOW_MS - 10_000),
  problems: [] as Reason[],
  seen_at: toInstant(NOW_MS),
  ...more,
})
const service = (name: string, ...instances: ReturnType<typeof instance>[]) => ({
  service: name,
  leader: null,
  term: null,
  last_seen_at: null,
  instances,
})
const IN_CLUSTER = { nowMs: NOW_MS, profile: 'cluster', workers: [] } as const
const WELL = [service('resource-scheduler', instance()), service('lablet-controller', instance())]
const controller = (...instances: ReturnType<typeof instance>[]) =>
  brief(judgeServices([...WELL, service('worker-controller', ...instances)], IN_CLUSTER).slice(2))

it('names the leader, or the reason that a service does not work', () => {
  const standby = instance({ is_leader: false, instance_id: 'b' })
  expect(controller(instance(), standby)).toEqual(['ok: worker-controller OK, leader a, 1 on standby'])
  expect(brief(judgeServices(WELL, IN_CLUSTER).slice(2))).toEqual([
    'failure: no instance of worker-controller has sent a heartbeat for 30 s',
  ])
  expect(controller(standby)).toEqual(['failure: worker-controller has no leader, although 1 instance is running'])
  expect(controller(instance({ watch: { healthy: false, age_seconds: 90 } }))[0]).toContain(
    'receives no change notifications',
  )
  expect(controller(instance({ last_sweep: toInstant(NOW_MS - 3_600_000) }))[0]).toContain('was 1h ago')
})

it('reads services again while they elect a leader, for three seconds at most', async () => {
  const clock = manualClock(NOW_MS)
  let electedMs = NOW_MS + 800
  const dispatch = async () => {
    const items = [service('worker-controller', instance({ is_leader: clock.now() >= electedMs }))]
    return { status: 200, headers: {}, body: JSON.stringify({ items }) }
  }
  const read = () => readServices(apiClient(dispatch), clock, new AbortController().signal)
  const elected = read()
  await clock.advance(1_000)
  expect((await elected)[0]?.instances[0]?.is_leader).toBe(true)
  electedMs = Number.POSITIVE_INFINITY
  const leaderless = read()
  await clock.advance(3_000)
  expect((await leaderless)[0]?.instances[0]?.is_leader).toBe(false)
})

it('gives an embedded LCM no advice about etcd or separate processes', () => {
  const standby = instance({ is_leader: false })
  const deaf = instance({ watch: { healthy: false, age_seconds: 90 } })
  const services = [service('resource-scheduler', standby), service('lablet-controller', deaf)]
  const steps = (profile: 'embedded' | 'cluster') =>
    judgeServices(services, { ...IN_CLUSTER, profile }).map(each => each.advice)
  for (const step of steps('embedded')) expect(step).toMatch(/`lcm up`/)
  for (const step of steps('cluster')) expect(step).toMatch(/etcd|lcm serve/)
})

it('gives advice for each AWS refusal', () => {
  const refused = (error_class: string) =>
    reason('aws_refuses_call', {
      operation: 'RunInstances',
      instance_type: 'm5zn.metal',
      region: 'us-east-1',
      error_class,
      aws_code: 'No',
      since: toInstant(NOW_MS),
      error: 'no',
      next_try_at: toInstant(NOW_MS),
    })
  const quota = instance({ problems: [refused('quota')] })
  const [finding] = judgeServices([...WELL, service('worker-controller', quota)], IN_CLUSTER).slice(2)
  expect(finding).toMatchObject({ severity: 'failure', advice: expect.stringContaining('higher quota') })
  const right = instance({ problems: [refused('auth')] })
  const [other] = judgeServices([...WELL, service('worker-controller', right)], IN_CLUSTER).slice(2)
  expect(other?.advice).toContain('docs/how-to/run-on-aws.md')
  expect(controller(instance({ problems: [textReason('etcd is slow')] }))[0]).toMatch(/^failure/)
  expect(controller(instance(), instance({ is_leader: false, problems: [textReason('etcd is slow')] }))[0]).toMatch(
    /^warning/,
  )
})

it('gives advice for each problem of a service', () => {
  const advised = (problem: Reason) =>
    judgeServices([...WELL, service('worker-controller', instance({ problems: [problem] }))], IN_CLUSTER)[2]
  const since = toInstant(NOW_MS)
  const etcd = reason('etcd_problem', { etcd_code: 'etcd_slow', since, error: 'it is slow', advice: 'check its disk' })
  expect(advised(etcd)).toMatchObject({ severity: 'failure', advice: 'check its disk', reason: etcd })
  expect(advised(reason('epoch_regressed', { service: 'worker-controller' }))?.advice).toBe(
    'run `lcm services reset-term worker-controller`',
  )
  const login = { part: 'login', workers: ['metal-1'], count: 1, worker_id: 'w-1', since } as const
  expect(advised(reason('cml_refuses_on_workers', login))?.advice).toBe('see `lcm why worker w-1`')
  const silent = reason('cml_outage', { silent: 3, running: 4, since })
  expect(advised(silent)?.advice).toContain('continues automatically')
  expect(advised(reason('waiting_for', { dependency: 'the store' }))?.advice).toBe('check its log')
})

it('reports a refusal of CML once, for the worker and not for the service', () => {
  const since = toInstant(NOW_MS)
  const refused = reason('cml_login_refused', { worker_id: 'w-1', error: '403' })
  const about = { type: 'CmlAccessRefused', status: true, reason: refused, since }
  const workers = judgeCml([running({ id: 'w-1', conditions: [about] })])
  const problem = (worker_id: string) =>
    reason('cml_refuses_on_workers', { part: 'login', workers: ['metal-1'], count: 1, worker_id, since })
  const judged = (worker_id: string) =>
    judgeServices([...WELL, service('worker-controller', instance({ problems: [problem(worker_id)] }))], {
      ...IN_CLUSTER,
      workers,
    })[2]
  expect(workers.map(({ severity }) => severity)).toEqual(['ok', 'failure'])
  expect([judged('w-1')?.severity, judged('w-2')?.severity]).toEqual(['ok', 'failure'])
  expect([isAboutOneOf(problem('w-1'), workers), isAboutOneOf(problem('w-2'), workers)]).toEqual([true, false])
})

it('fails for dependencies that the API or any instance reports as down', () => {
  const outage = { dependency: 'EC2 in us-east-1', since: toInstant(NOW_MS), error: 'DescribeInstances: timeout' }
  const problem = reason('dependency_outage', outage)
  const advice = expect.stringContaining('continues automatically')
  expect(judgeHealth({ problems: [problem] })).toEqual([
    { check: 'health', severity: 'failure', message: problem.message, advice, reason: problem },
  ])
  expect(judgeHealth(null)).toEqual([])
  for (const is_leader of [true, false]) {
    const [finding] = judgeServices(
      [...WELL, service('worker-controller', instance(), instance({ is_leader, problems: [problem] }))],
      IN_CLUSTER,
    ).slice(2)
    expect(finding).toMatchObject({ severity: 'failure', message: expect.stringContaining(problem.message), advice })
  }
})

const running = (more: Parameters<typeof aWorker>[0] = {}) =>
  aWorker({ status: 'RUNNING', service_status: 'AVAILABLE', https_endpoint: 'https://10.0.0.1', ...more })
const RESERVED = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom(toInstant(NOW_MS)) }
const condition = (type: string, status: boolean, message: string) => ({
  type,
  status,
  reason: textReason(message),
  since: toInstant(NOW_MS),
})

it('names a CML that does not respond, with its last observation', () => {
  expect(judgeCml([])).toEqual([])
  expect(brief(judgeCml([running(), running()]))).toEqual(['ok: CML responds on 2 workers'])
  const cut = running({
    name: 'metal-1',
    service_status: 'UNAVAILABLE',
    conditions: [condition('Tls', false, 'no TLS')],
  })
  expect(brief(judgeCml([cut]))).toEqual(['warning: CML on metal-1 does not respond at https://10.0.0.1: no TLS'])
  expect(brief(judgeCml([{ ...cut, reservations: { 'ls-1': RESERVED } }]))).toEqual([
    'failure: CML on metal-1 does not respond at https://10.0.0.1: no TLS (1 session on it)',
  ])
  // The view of users hides the address.
  expect(brief(judgeCml([{ ...cut, https_endpoint: null }]))).toEqual([
    'warning: CML on metal-1 does not respond: no TLS',
  ])
  expect(judgeCml([{ ...cut, service_status: 'STARTING' }])[0]?.severity).toBe('warning')
  const failed = running({ name: 'm', status: 'FAILED', conditions: [condition('Failed', true, 'no capacity')] })
  expect(brief(judgeCml([failed]))).toEqual(['warning: m is FAILED: no capacity'])
  const stale = running({ name: 'm', conditions: [condition('MetricsStale', true, 'no response')] })
  expect(judgeCml([stale])[1]).toMatchObject({ severity: 'warning' })
  const message = "CML refuses LCM's login (no)"
  const refusing = (code: string) => ({
    ...condition('CmlAccessRefused', true, message),
    reason: { code, message, params: {} },
  })
  const refused = refusing(CML_REASONS.login)
  expect(judgeCml([running({ name: 'my lab', conditions: [refused] })])[1]).toMatchObject({
    severity: 'failure',
    message: `my lab: ${message}`,
    advice: "set the right CML account with `lcm set credentials 'my lab'`, or correct CML_DEFAULT_PASSWORD",
  })
  const unknown = refusing(CML_REASONS.credentials)
  expect(judgeCml([running({ conditions: [unknown] })])[1]?.severity).toBe('warning')
  const off = refusing(CML_REASONS.telemetry_off)
  expect(judgeCml([running({ conditions: [off] })])[1]).toMatchObject({
    severity: 'warning',
    advice: 'turn on telemetry in CML, or turn off idle detection for this worker',
  })
  expect(
    judgeCml(Array.from({ length: 12 }, () => cut))
      .map(({ message }) => message)
      .at(-1),
  ).toBe('and 2 more')
})

it('trusts the answer of a CML more than its record', () => {
  const worker = running({ id: 'w-1', name: 'metal-1', reservations: { 'ls-1': RESERVED, 'ls-2': RESERVED } })
  const judged = (stage: string) => brief(judgeCml([worker], { stages: new Map([['w-1', stage]]), unasked: null }))
  expect(judged('READY')).toEqual(['ok: CML responds on 1 worker'])
  expect(judged('NOTHING')).toEqual([
    'failure: CML on metal-1 does not respond at https://10.0.0.1: it did not answer just now (2 sessions on it)',
  ])
  expect(judged('GATEWAY')[0]).toContain('it answers only up to the stage GATEWAY')
})

it('says that it repeats the record where it could not ask', () => {
  const unasked = { names: ['metal-1'], because: 'worker-controller did not answer within 10 s', advice: '' }
  expect(brief(judgeCml([running()], { stages: new Map(), unasked }))).toEqual([
    'ok: CML responds on 1 worker',
    'warning: CML could not be asked on metal-1: worker-controller did not answer within 10 s. ' +
      'This is what was last recorded',
  ])
})

const MEMBER = { endpoint: 'e:2379', problem: null, version: '3.5.1', atMs: NOW_MS, hasLeader: true, alarms: [] }

it('fails when a majority of etcd members is down, and warns for a minority', () => {
  expect(brief(judgeEtcd([MEMBER], NOW_MS))).toEqual(['ok: etcd 3.5.1 responds at e:2379 and has a leader'])
  expect(judgeEtcd([{ ...MEMBER, alarms: ['NOSPACE'] }], NOW_MS)[0]?.message).toContain('NOSPACE')
  expect(judgeEtcd([{ ...MEMBER, alarms: ['CORRUPT'] }], NOW_MS)[0]?.severity).toBe('failure')
  expect(judgeEtcd([{ ...MEMBER, hasLeader: false }], NOW_MS)[0]?.severity).toBe('failure')
  expect(judgeEtcd([MEMBER], NOW_MS + 120_000)[1]).toMatchObject({ check: 'clock', severity: 'failure' })
  const lost = { ...MEMBER, hasLeader: false }
  expect(judgeEtcd([MEMBER, MEMBER, lost], NOW_MS).map(({ severity }) => severity)).toEqual(['ok', 'ok', 'warning'])
  expect(unknownEtcd().severity).toBe('warning')
})

it('rates the store by its check result', () => {
  expect(judgeStore({ location: 'sqlite:x', problem: null, isComplete: true }).message).toBe('sqlite:x OK')
  expect(judgeStore({ location: 'sqlite:x', problem: 'torn', isComplete: true }).advice).toContain('restore a backup')
  expect(judgeStore({ location: 'mongodb at h', problem: 'gone', isComplete: true }).advice).toContain('LCM_STORE')
})

const tried = (
  action: 'ec2:StopInstances' | 'ec2:RunInstances',
  verdict: 'granted' | 'denied' | 'rejected' | 'inconclusive',
) => ({
  region: 'us-east-1',
  action,
  verdict,
  details: verdict === 'granted' ? '' : 'X: no. Encoded authorization failure message: abc',
})
const CALLER = { arn: 'arn:aws:iam::1:role/lcm', refusal: null, atMs: NOW_MS }
const ACCOUNT = {
  credentialsError: null,
  caller: CALLER,
  callerError: null,
  actions: [tried('ec2:StopInstances', 'granted')],
}

it('names what is wrong with the account: credentials, permissions, clock or network', () => {
  const judged = (more: Partial<Parameters<typeof judgeAws>[0]>, atMs = NOW_MS) =>
    brief(judgeAws({ ...ACCOUNT, ...more }, atMs))
  expect(judged({})).toEqual([
    'ok: AWS credentials are valid (arn:aws:iam::1:role/lcm)',
    'ok: all 1 required IAM actions are allowed',
  ])
  expect(judged({ credentialsError: 'none' })).toEqual(['failure: no AWS credentials were found: none'])
  expect(judged({ actions: [tried('ec2:StopInstances', 'denied'), tried('ec2:RunInstances', 'granted')] })[1]).toBe(
    'failure: the IAM action ec2:StopInstances is missing in us-east-1: X: no',
  )
  expect(judged({ actions: [tried('ec2:StopInstances', 'rejected')] })[0]).toContain('AWS rejects the credentials')
  const refusal = { code: 'InvalidClientTokenId', message: 'no' }
  expect(judged({ caller: { ...CALLER, refusal } })[0]).toContain('InvalidClientTokenId')
  expect(judged({ actions: [tried('ec2:StopInstances', 'inconclusive')], callerError: 'ENOTFOUND' })[0]).toContain(
    'AWS is unreachable',
  )
  expect(judged({}, NOW_MS + 600_000)[1]).toContain('failure: the clock of AWS is')
  expect(
    judged({ actions: [tried('ec2:StopInstances', 'inconclusive'), tried('ec2:RunInstances', 'granted')] })[1],
  ).toMatch(/^warning/)
})

it('returns no finding for an empty list', () => {
  expect(firstOf([], 'x')).toEqual([])
})

it('ends a check at its timeout or when the user interrupts', async () => {
  const clock = manualClock()
  const interrupt = new AbortController()
  const never = () => new Promise<never>(() => undefined)
  const late = withTimeout(clock, interrupt.signal, never, 5_000)
  await clock.advance(5_000)
  expect(await late).toBeNull()
  expect(await withTimeout(clock, interrupt.signal, async () => 7, 5_000)).toBe(7)
  const interrupted = withTimeout(clock, interrupt.signal, never, 5_000)
  interrupt.abort(new Error('enough'))
  await expect(interrupted).rejects.toThrow('enough')
})
