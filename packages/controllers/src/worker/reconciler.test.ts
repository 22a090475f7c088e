import { apiClient } from '@lcm/client/client'
import type { CmlStats, CmlSystem } from '@lcm/cloud/cml-system'
import { accountCircuitBreaker } from '@lcm/cloud/compute-wrappers/account-circuit-breaker'
import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import { CloudError, type CloudErrorClass } from '@lcm/cloud/errors'
import { type MachineReading, NO_READING } from '@lcm/cloud/machine-metrics'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import { localCoordination } from '@lcm/coordination/local/coordination'
import type { DecisionNote } from '@lcm/domain/journal-records'
import { reason, textReason } from '@lcm/domain/reason'
import type { PlannedAction } from '@lcm/domain/service-instance'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import { silentLogger, silentMeter } from '@lcm/runtime'
import { manualClock } from '@lcm/testkit/manual-clock'
import { anAttempt, anInstance, aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { type DecisionLog, decisionLog } from '../kit/decision-log.ts'
import { WORKER_CONTROLLER_DEFAULTS } from './config.ts'
import { workerController } from './controller.ts'

let clock: ReturnType<typeof manualClock>
let worker: Worker
let writes: ApiRequest[]
let acts: string[]
/** The reason of a worker that an admin stops. */
const REQUESTED = reason('requested_by', { by: 'admin', status: 'STOPPED', reason: '' })
/** The responses of the API to the next writes; later ones are accepted. */
let refusals: ApiResponse[]
let refuseActs: CloudErrorClass | null
let limit: { readonly retryAfterMs?: number }
let noted: (DecisionNote & { epoch: number })[]
let planned: readonly PlannedAction[]

const json = (status: number, body: object): ApiResponse => ({ status, headers: {}, body: JSON.stringify(body) })
const problem = (status: number, code: string) => json(status, { type: '', title: '', status, detail: code, code })

/** One worker behind an API that accepts every write. */
const api = async (request: ApiRequest): Promise<ApiResponse> => {
  if (request.url.endsWith('/settings')) return json(200, { version: 0, updated_at: null, settings: {} })
  if (request.url.endsWith('/metrics')) return { status: 204, headers: {}, body: null }
  if (request.url.endsWith('/idle-checks'))
    return json(200, { verdict: 'skipped_not_idle', because: textReason('busy'), guards: [], worker })
  if (request.method === 'GET' && request.url.includes('?'))
    return json(200, { items: [worker], next_cursor: null, revision: '1' })
  if (request.method === 'GET') return json(200, worker)
  writes.push(request)
  const refusal = refusals.shift()
  if (refusal) return refusal
  worker = { ...worker, ...JSON.parse(request.body ?? '{}').changes, version: worker.version + 1 }
  return json(200, worker)
}

const machine = () => anInstance({ state: worker.status === 'STOPPED' ? 'stopped' : 'running' })
const machines: BatchedCompute = {
  list: async () => [machine()],
  describeOne: async () => machine(),
  newestImage: async () => null,
  imageIds: async () => [],
  launch: async () => machine(),
  async powerOne(_region, act) {
    acts.push(act)
    if (refuseActs) throw new CloudError(refuseActs, { code: 'Code', action: act, message: 'refused', ...limit })
    return 'stopping'
  },
  async tag(_region, _id, tags) {
    acts.push(`tag ${tags.Name}`)
    if (refuseActs) throw new CloudError(refuseActs, { code: 'Code', action: 'CreateTags', message: 'refused' })
  },
}
let reading: MachineReading
const silent = async (): Promise<never> => {
  throw new CloudError('transient', { code: 'Silent', action: 'GET', message: 'no answer' })
}
const NO_STATS: CmlStats = {
  cpu_count: null,
  cpu_utilization: null,
  memory_utilization: null,
  disk_utilization: null,
  memory_total_bytes: null,
  disk_total_bytes: null,
  running_nodes: null,
  running_orphans: null,
}
const cml: CmlSystem = {
  probe: async () => ({ stage: 'READY', version: '2.9.1', certificate_sha256: 'ab'.repeat(32), detail: '' }),
  stats: async () => NO_STATS,
  health: silent,
  nodeDefinitions: silent,
  licensing: silent,
  register: silent,
  deregister: silent,
  activity: silent,
}

const onMachine = (more: Partial<Worker>) => {
  const { instance_id, instance_type, image_id, availability_zone, public_ip, private_ip } = anInstance()
  const place = { instance_type, ami_id: image_id, availability_zone, public_ip, private_ip }
  return aWorker({
    ec2_instance_id: instance_id,
    launch: anAttempt(),
    ...place,
    https_endpoint: 'https://127.64.0.1',
    cml: { ...aWorker().cml, certificate_sha256: 'ab'.repeat(32) },
    service_status: 'AVAILABLE',
    ...more,
  })
}

async function runFor(ms: number): Promise<void> {
  const coordination = localCoordination({ clock, firstEpoch: () => 1 })
  const client = apiClient(api)
  const log = decisionLog({ client, clock, logger: silentLogger, instanceId: 'one' })
  const decisions: DecisionLog = { ...log, note: (_, epoch, note) => void noted.push({ epoch, ...note }) }
  const controller = workerController({
    client,
    metrics: { latest: async (_, ids) => new Map(ids.map(id => [id, reading])) },
    decisions,
    machines,
    account: accountCircuitBreaker(clock),
    cml,
    clock,
    changeKeys: coordination.changeKeys,
    election: coordination.election('worker-controller', 'one'),
    logger: silentLogger,
    meter: silentMeter,
    config: {
      ...WORKER_CONTROLLER_DEFAULTS,
      fleet: 'lcm',
      regions: {},
      policy: WORKER_POLICY,
      cmlDefaults: { username: 'admin', password: 'of-the-fleet' },
    },
  })
  const stop = new AbortController()
  const ended = controller.service.run(stop.signal)
  await clock.advance(ms)
  planned = controller.plan()
  stop.abort()
  await clock.advance(0)
  await ended
}

beforeEach(() => {
  clock = manualClock()
  writes = []
  acts = []
  refusals = []
  refuseActs = null
  limit = {}
  noted = []
  reading = { ...NO_READING, cpu_utilization: 0.5 }
})

describe('a worker that was renamed', () => {
  it('has its machine renamed without a write', async () => {
    worker = onMachine({ status: 'RUNNING', name: 'ada' })
    await runFor(35_000)
    expect(acts).toEqual(['tag ada'])
    expect(writes).toEqual([])
    expect(noted.filter(({ action }) => action === 'tag')).toMatchObject([{ outcome: 'tag: {"Name":"ada"}' }])
  })

  it('is retried a few times an hour when EC2 refuses it, and is still stopped at once', async () => {
    worker = onMachine({ status: 'RUNNING', name: 'ada' })
    refuseActs = 'auth'
    await runFor(60 * 60_000)
    // After 0, 1, 3, 7, 15 and 31 minutes.
    expect(acts).toEqual(Array.from({ length: 6 }, () => 'tag ada'))
    expect(noted.filter(({ action }) => action === 'tag')).toHaveLength(6)
    expect(noted.length).toBeLessThanOrEqual(12)
    refuseActs = null
    worker = { ...worker, desired_status: 'STOPPED' }
    await runFor(2_000)
    expect(acts.at(-1)).toBe('stop')
  })
})

describe('announce, act, report', () => {
  it('writes STOPPING before it stops, and then stops at once', async () => {
    worker = onMachine({ status: 'RUNNING', desired_status: 'STOPPED' })
    await runFor(2_000)
    expect(writes.map(write => JSON.parse(write.body ?? ''))).toMatchObject([
      { changes: { status: 'STOPPING' }, decision: { because: REQUESTED } },
    ])
    expect(writes[0]?.headers['if-match']).toBe('"1"')
    expect(acts).toEqual(['stop'])
  })

  it('does not act on a refused announcement, and reconciles the newer version', async () => {
    worker = onMachine({ status: 'RUNNING', desired_status: 'STOPPED' })
    refusals = [problem(412, 'version_mismatch')]
    await runFor(2_000)
    expect(writes).toHaveLength(2)
    expect(acts).toEqual(['stop'])
  })

  it('retries later when the API is down', async () => {
    worker = onMachine({ status: 'RUNNING', desired_status: 'STOPPED' })
    refusals = [problem(503, 'store_unavailable'), problem(503, 'store_unavailable')]
    await runFor(2_000)
    expect([writes.length, acts.length]).toEqual([1, 0])
    await runFor(4_000)
    expect(acts).toEqual(['stop'])
  })

  it('registers a new term when the API no longer knows the old one', async () => {
    worker = onMachine({ status: 'RUNNING', desired_status: 'STOPPED' })
    refusals = [problem(409, 'term_not_registered')]
    await runFor(40_000)
    expect(acts[0]).toBe('stop')
    expect(new Set(writes.map(write => write.headers['lcm-epoch'])).size).toBe(2)
  })

  it('writes and changes nothing at rest', async () => {
    worker = onMachine({ status: 'RUNNING', desired_status: 'RUNNING' })
    await runFor(10 * 60_000)
    expect([writes, acts]).toEqual([[], []])
  })

  it('reports missing metrics once, and clears the condition when metrics are back, also in another term', async () => {
    worker = onMachine({ status: 'RUNNING', desired_status: 'RUNNING' })
    reading = NO_READING
    await runFor(10 * 60_000)
    expect(writes).toHaveLength(1)
    expect(worker.conditions).toMatchObject([{ type: 'MetricsStale', status: true }])
    await runFor(10 * 60_000)
    expect(writes).toHaveLength(1)
    reading = { ...NO_READING, cpu_utilization: 0.5 }
    await runFor(10 * 60_000)
    expect(writes).toHaveLength(2)
    expect(worker.conditions).toEqual([])
  })

  it('ignores a terminated worker', async () => {
    worker = onMachine({ status: 'TERMINATED', desired_status: 'TERMINATED' })
    await runFor(60_000)
    expect([writes, acts]).toEqual([[], []])
  })
})

describe('a cloud that refuses', () => {
  it.each(['throttled', 'state', 'capacity', 'not_found'] as const)(
    'is retried after its delay when %s',
    async errorClass => {
      worker = onMachine({ status: 'STOPPING', desired_status: 'STOPPED' })
      refuseActs = errorClass
      await runFor(2_000)
      expect(acts).toEqual(['stop'])
      expect(writes).toEqual([])
    },
  )

  it('is retried when the rate limit allows it, which the journal records as a wait', async () => {
    worker = onMachine({ status: 'STOPPING', desired_status: 'STOPPED' })
    refuseActs = 'throttled'
    limit = { retryAfterMs: 100 }
    await runFor(3_050)
    expect(acts.length).toBeGreaterThanOrEqual(10)
    expect(new Set(noted.map(({ action }) => action))).toEqual(new Set(['wait']))
    expect(new Set(noted.map(({ because }) => JSON.stringify(because))).size).toBe(1)
  })

  it('is retried with backoff when it fails otherwise', async () => {
    worker = onMachine({ status: 'STOPPING', desired_status: 'STOPPED' })
    refuseActs = 'transient'
    await runFor(2_000 + 15_500)
    expect(acts.length).toBeGreaterThanOrEqual(4)
    expect(acts.length).toBeLessThanOrEqual(6)
  })
})

describe('the journal', () => {
  it('has the observation and reason with the write, and the outcome after the action', async () => {
    worker = onMachine({ status: 'RUNNING', desired_status: 'STOPPED' })
    await runFor(2_000)
    const { decision } = JSON.parse(writes[0]?.body ?? '')
    expect(decision).toMatchObject({
      action: 'write',
      because: REQUESTED,
      seen: { version: 1, status: 'RUNNING', desired_status: 'STOPPED', ec2: 'running' },
    })
    expect(noted).toContainEqual(
      expect.objectContaining({
        epoch: 1,
        action: 'stop',
        outcome: 'EC2 reports the instance as stopping',
        cause: 'requeue',
      }),
    )
  })

  it('has no outcome for a wait or idleness, which would repeat the reason', async () => {
    worker = onMachine({ status: 'RUNNING', desired_status: 'RUNNING' })
    await runFor(60_000)
    expect(noted).toContainEqual(
      expect.objectContaining({
        action: 'nothing',
        because: reason('at_desired_status', { status: 'RUNNING' }),
        outcome: '',
      }),
    )
    expect(noted.map(({ outcome }) => outcome)).toEqual(noted.map(() => ''))
  })

  it('has no plan for a worker at rest, else the next action', async () => {
    worker = onMachine({ status: 'STOPPING', desired_status: 'STOPPED' })
    refuseActs = 'throttled'
    await runFor(2_000)
    expect(planned).toMatchObject([{ resource: 'worker:w-1', action: 'stop' }])
    worker = onMachine({ status: 'RUNNING', desired_status: 'RUNNING' })
    await runFor(2_000)
    expect(planned).toEqual([])
  })
})
