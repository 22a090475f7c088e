import { heldFrom } from '@lcm/domain/calendar/worker-ledger'
import { toInstant } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { withBoot } from '@lcm/domain/worker/boot-stages'
import { withCondition } from '@lcm/domain/worker/worker'
import picocolors from 'picocolors'
import { expect, it } from 'vitest'
import { aLaunch, aRunningWorker, aWorker, START_MS } from '../testing/resource-builders.ts'
import { drainText } from './drain-wait-goal.ts'
import { describeWorker } from './worker-description.ts'

const plain = picocolors.createColors(false)

it('describes a booting worker completely', () => {
  const at = (seconds: number) => toInstant(START_MS + seconds * 1000)
  const boot = withBoot(withBoot([], 1, START_MS + 20_000), 2, START_MS + 50_000)
  const drift = {
    type: 'TagsChanged',
    status: true,
    reason: { code: 'drift', message: 'a tag was\u001b[2J removed', params: {} },
  }
  const worker = aWorker({
    status: 'STARTING',
    service_status: 'STARTING',
    entered_status_at: at(20),
    conditions: withCondition(boot, drift, START_MS + 30_000),
    launch: aLaunch({ state: 'launched' }),
    ec2_instance_id: 'i-1',
    instance_type: 'm5zn.metal',
    public_ip: '203.0.113.7',
    private_ip: '10.0.0.7',
    https_endpoint: 'https://203.0.113.7',
    desired_reason: 'a class',
    tags: { team: 'net' },
    state_history: [
      { from: null, to: 'PENDING', at: at(0), because: textReason('requested by admin') },
      { from: 'PENDING', to: 'PROVISIONING', at: at(5), because: textReason('launched i-1') },
      { from: 'PROVISIONING', to: 'STARTING', at: at(20), because: textReason('EC2 says running') },
    ],
  })
  expect(describeWorker(worker, START_MS + 80_000, plain)).toEqual([
    'metal-1  w-0abcdefgh0001',
    '  status     STARTING -> RUNNING for 1m',
    '  health     OK',
    '  progress   waiting for the CML web server to speak TLS',
    '  desired    RUNNING by admin: a class',
    '  service    STARTING',
    '  endpoint   https://203.0.113.7',
    '  addresses  203.0.113.7, 10.0.0.7',
    '  machine    i-1, m5zn.metal',
    '  zone       us-east-1',
    '  template   metal, $3.96/h',
    '  protected  no',
    '  tags       team=net',
    '  created    1m20s ago (USER)',
    '  version    1',
    '',
    'Boot stages',
    '  ✓ InstanceRunning  1m',
    '  ✓ TcpReachable     30s',
    '  … TlsEstablished   1m      waiting for the CML web server to speak TLS',
    '  … GatewayAnswers   1m',
    '  … ApiAnswers       1m',
    '  … CmlReady         1m',
    '',
    'Conditions',
    '  TYPE          STATUS   FOR   REASON   MESSAGE',
    '  TagsChanged   true     50s   drift    a tag was [2J removed',
    '',
    'Launch attempt',
    '  attempt 1 is launched, requested 1m20s ago',
    '  m5zn.metal from ami-1 in subnet-1, 64 GB disk',
    '',
    'History, newest first',
    '  1m      PROVISIONING -> STARTING   EC2 says running',
    '  1m15s   PENDING -> PROVISIONING    launched i-1',
    '  1m20s   PENDING                    requested by admin',
  ])
})

it('omits empty sections', () => {
  const lines = describeWorker(aWorker({ state_history: [] }), START_MS, plain)
  expect(lines.filter(line => /Boot|Conditions|Launch|History|endpoint|machine|tags/.test(line))).toEqual([])
})

it('shows the sessions that a drain waits for, and the license status', () => {
  const reservation = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom('2026-01-01T00:00:00.000Z') }
  const worker = aRunningWorker({
    status: 'DRAINING',
    cordoned: true,
    reservations: { 'ls-1': reservation },
    drain: {
      requested_at: '2026-01-01T00:00:00.000Z',
      by: 'ann',
      reason: '',
      // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
      then: 'STOPPED',
      deadline: '2026-01-01T01:00:00.000Z',
    },
    license: {
      ...aRunningWorker().license,
      product: 'CML_Enterprise',
      pending_operation: 'register',
      last_error: 'no response',
    },
  })
  const text = describeWorker(worker, START_MS, plain).join('\n')
  expect(text).toMatch(/drain +waiting for session ls-1 to end, at most 1h$/m)
  expect(text).toMatch(/sessions +ls-1/)
  expect(text).toMatch(/license +UNREGISTERED, CML_Enterprise, register requested, no response/)
  expect(text).toMatch(/cordoned +yes/)
})

it('shows when the sessions of a drain end, if all ends are known', () => {
  const reservation = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom('2026-01-01T00:00:00.000Z') }
  const [requested_at, deadline] = ['2026-01-01T00:00:00.000Z', '2026-01-01T04:00:00.000Z']
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  const drain = { requested_at, by: 'ann', reason: '', then: 'STOPPED' as const, deadline }
  const drainOf = (...ends: (string | null)[]) => {
    const ids = ends.map((_, index) => `ls-${index}`)
    const worker = aRunningWorker({ reservations: Object.fromEntries(ids.map(id => [id, reservation])) })
    const known = new Map(ends.flatMap((end, index) => (end === null ? [] : [[`ls-${index}`, end] as const])))
    return drainText(worker, drain, START_MS, known)
  }
  const [soon, later] = ['2026-01-01T00:20:00.000Z', '2026-01-01T02:00:00.000Z']
  expect(drainOf(soon)).toBe('waiting for session ls-0 to end, at most 4h; its timeslot ends in 20m')
  expect(drainOf(later, soon)).toMatch(
    'waiting for 2 sessions ls-0, ls-1 to end, at most 4h; the last timeslot ends in 2h',
  )
  expect(drainOf(requested_at)).toMatch('waiting for session ls-0 to end, at most 4h; its timeslot has ended')
  expect(drainOf(soon, null)).toMatch(/at most 4h$/)
})

it('shows labels and tags', () => {
  const text = describeWorker(aRunningWorker({ labels: { team: 'blue' }, tags: { a: 'b' } }), START_MS, plain).join(
    '\n',
  )
  expect(text).toMatch(/labels +team=blue\n +tags +a=b/)
})
