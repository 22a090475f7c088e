import type { Compute } from '@lcm/cloud/compute'
import { CloudError } from '@lcm/cloud/errors'
import type { Instance } from '@lcm/domain/worker/ec2-instance'
import type { Worker } from '@lcm/domain/worker/worker'
import { NO_LICENSE } from '@lcm/domain/worker/worker-field-schemas'
import { silentLogger } from '@lcm/runtime'
import { type RecordingMeter, recordingMeter } from '@lcm/testkit/recording-meter'
import { aTemplate, aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Controller } from '../kit/controller-types.ts'
import { decisionLog } from '../kit/decision-log.ts'
import { registeredElection } from '../kit/registered-election.ts'
import type { WorkerControllerConfig } from './config.ts'
import { workerController } from './controller.ts'
import { leaderOnlyCompute } from './leader-only-compute.ts'
import {
  aConfig,
  BOOTED_MS,
  ourTags,
  REGION,
  type SimulatedFleet,
  simulatedFleet,
} from './testing/simulated-cloud-and-api.ts'

const MINUTE_MS = 60_000

let fleet: SimulatedFleet
let meter: RecordingMeter
let controller: Controller
let ending: () => Promise<void>

const worker = () => fleet.plane.get('workers', 'w-1')
const writes = () => fleet.plane.requests.filter(({ ifMatch }) => ifMatch !== null)
const change = (more: Partial<Worker>) => fleet.plane.edit('workers', 'w-1', more)
const serviceStatusIn = (changes: unknown): unknown[] =>
  typeof changes === 'object' && changes !== null && 'service_status' in changes ? [changes.service_status] : []
const runFor = (ms: number) => fleet.clock.advance(ms)

function begin(config: Partial<WorkerControllerConfig> = {}, compute = fleet.compute): void {
  const { client, clock, cml, metrics, plane } = fleet
  const shared = { client, clock, logger: silentLogger }
  const election = registeredElection({
    ...shared,
    election: plane.coordination.election('worker-controller', 'one'),
    service: 'worker-controller',
  })
  controller = workerController({
    ...leaderOnlyCompute({ compute, clock, election }),
    ...shared,
    metrics,
    cml,
    changeKeys: plane.changeKeys,
    decisions: decisionLog({ ...shared, instanceId: 'one' }),
    meter,
    config: aConfig(config),
  })
  const stop = new AbortController()
  const ended = controller.service.run(stop.signal)
  ending = async () => {
    stop.abort()
    await runFor(MINUTE_MS)
    await ended
  }
}

/** One worker at rest, with a CML that collects telemetry. */
async function atRest(more: Partial<Worker> = {}, config: Partial<WorkerControllerConfig> = {}): Promise<Instance> {
  const machine = await fleet.launch({ tags: ourTags('w-1') })
  await runFor(BOOTED_MS)
  fleet.setServer(machine, { opt_in: true })
  await fleet.plane.put('workers', await fleet.workerOn(machine, more))
  begin(config)
  await runFor(MINUTE_MS)
  fleet.plane.requests.length = 0
  return machine
}

beforeEach(async () => {
  fleet = await simulatedFleet({ epoch: null })
  meter = recordingMeter()
})

describe('calls that take minutes', () => {
  it('delay no other worker: neither launches nor CML servers that do not answer', async () => {
    await fleet.plane.put('templates', aTemplate({ ami_name_pattern: 'cml-2.9.1-*' }))
    const machine = await fleet.launch({ tags: ourTags('w-1') })
    const others: Instance[] = []
    for (let n = 0; n < 6; n += 1) others.push(await fleet.launch({ tags: ourTags(`w-boots-${n}`) }))
    await runFor(BOOTED_MS)
    await fleet.plane.put('workers', await fleet.workerOn(machine))
    for (const [n, other] of others.entries()) {
      await fleet.plane.put('workers', aWorker({ id: `w-new-${n}`, aws_region: REGION }))
      const booting = await fleet.workerOn(other, { id: `w-boots-${n}`, status: 'STARTING' })
      await fleet.plane.put('workers', { ...booting, service_status: 'STARTING' })
    }
    const slowly = async (signal: AbortSignal): Promise<never> => {
      await fleet.clock.sleep(10 * MINUTE_MS, signal)
      throw new CloudError('transient', { code: 'TimeoutError', action: 'slow', message: 'no answer' })
    }
    fleet = { ...fleet, cml: { ...fleet.cml, probe: (_, signal) => slowly(signal) } }
    begin({}, { ...fleet.compute, launch: (_region, _request, signal) => slowly(signal) })
    await runFor(MINUTE_MS)
    await change({ desired_status: 'STOPPED' })
    await runFor(MINUTE_MS)
    expect((await worker()).status).toBe('STOPPING')
    await ending()
  })
})

describe('an account that AWS refuses', () => {
  it('is a problem of the controller, is retried slowly, and recovers once a launch is accepted', async () => {
    await fleet.plane.put('templates', aTemplate({ ami_name_pattern: 'cml-2.9.1-*' }))
    await fleet.plane.put('workers', aWorker({ aws_region: 'us-east-1' }))
    let launches = 0
    let isFull = true
    const launch: Compute['launch'] = (...args) => {
      launches += 1
      if (!isFull) return fleet.compute.launch(...args)
      const about = { code: 'VcpuLimitExceeded', action: 'RunInstances', message: `request ${launches} is too much.` }
      throw new CloudError('quota', about)
    }
    begin({}, { ...fleet.compute, launch })
    await runFor(4 * MINUTE_MS)
    expect(launches).toBe(1)
    expect(controller.problems?.()).toMatchObject([
      {
        code: 'aws_refuses_call',
        params: { operation: 'RunInstances', region: 'us-east-1', aws_code: 'VcpuLimitExceeded', error_class: 'quota' },
      },
    ])
    expect(await worker()).toMatchObject({
      status: 'PENDING',
      conditions: [{ reason: { code: 'aws_denies', params: { action: 'launch', aws_code: 'VcpuLimitExceeded' } } }],
    })
    isFull = false
    await runFor(2 * MINUTE_MS)
    expect([launches, controller.problems?.(), (await worker()).ec2_instance_id]).toEqual([2, [], expect.any(String)])
  })

  it('is no problem of a controller that lost its leadership', async () => {
    await fleet.plane.put('workers', aWorker({ aws_region: 'us-east-1', ec2_instance_id: 'i-1', status: 'RUNNING' }))
    const describe: Compute['describe'] = async () => {
      throw new CloudError('auth', { code: 'ExpiredToken', action: 'DescribeInstances', message: 'expired' })
    }
    begin({}, { ...fleet.compute, describe })
    await runFor(MINUTE_MS)
    expect(controller.problems?.()).toHaveLength(1)
    await ending()
    expect(controller.problems?.()).toEqual([])
  })
})

describe('the CML of most workers', () => {
  it('is a problem while it does not answer, but not after those workers were stopped and started again', async () => {
    const machine = await atRest()
    fleet.setServer(machine, { faults: { network: 'cut' } })
    await runFor(15 * MINUTE_MS)
    expect(controller.problems?.()).toMatchObject([{ code: 'cml_outage', params: { silent: 1, running: 1 } }])
    await change({ desired_status: 'STOPPED' })
    await runFor(30 * MINUTE_MS)
    expect((await worker()).status).toBe('STOPPED')
    fleet.setServer(machine, { faults: { network: 'reached' } })
    await change({ desired_status: 'RUNNING' })
    const problems = new Set<string>()
    for (let second = 0; second < BOOTED_MS / 1000; second += 1) {
      await runFor(1_000)
      for (const problem of controller.problems?.() ?? []) problems.add(problem.code)
    }
    expect([(await worker()).status, ...problems]).toEqual(['RUNNING'])
    await ending()
  })
})

describe('the transitions of a worker', () => {
  it('are counted once each', async () => {
    await fleet.plane.put('templates', aTemplate({ ami_name_pattern: 'cml-2.9.1-*' }))
    await fleet.plane.put('workers', aWorker({ aws_region: 'us-east-1' }))
    begin()
    await runFor(BOOTED_MS)
    expect(await worker()).toMatchObject({ status: 'RUNNING', service_status: 'AVAILABLE' })
    expect(controller.stats()).toMatchObject({ provisioned_count: 1, started_count: 1, running_worker_count: 1 })
    await change({ desired_status: 'STOPPED' })
    await runFor(BOOTED_MS)
    expect(controller.stats()).toMatchObject({ started_count: 1, stopped_count: 1, running_worker_count: 0 })
    await change({ desired_status: 'RUNNING' })
    await runFor(BOOTED_MS)
    expect(controller.stats()).toMatchObject({ started_count: 2, stopped_count: 1, terminated_count: 0 })
    await change({ desired_status: 'TERMINATED' })
    await runFor(BOOTED_MS)
    expect((await worker()).status).toBe('TERMINATED')
    expect(controller.stats()).toMatchObject({ provisioned_count: 1, stopped_count: 1, terminated_count: 1 })
    expect(fleet.plane.requestsOf('reportLicenseLeak')).toEqual([])
  })
})

describe('a worker at rest', () => {
  it('is probed and measured, and nothing is written', async () => {
    await atRest()
    await runFor(60 * MINUTE_MS)
    expect(writes()).toEqual([])
    expect(fleet.plane.requestsOf('checkWorkerIdle')).toHaveLength(12)
    expect(fleet.plane.requestsOf('reportWorkerMetrics')).toHaveLength(60)
    expect(controller.stats()).toMatchObject({ idle_detection_count: 13, auto_pause_count: 0 })
    expect([controller.plan(), controller.health()]).toEqual([[], { workers_managed: 1, workers_with_drift: 0 }])
  })

  it('is observed once for a refresh request, and the request is closed', async () => {
    await atRest()
    await change({ refresh_requested_at: aWorker().created_at })
    await runFor(10 * MINUTE_MS)
    expect((await worker()).refresh_requested_at).toBeNull()
    expect(writes()).toHaveLength(1)
  })

  it('is measured once for a refresh request before the request is closed', async () => {
    await atRest()
    // The next round of the metrics loop itself comes later.
    await runFor(15_000)
    fleet.plane.requests.length = 0
    await change({ refresh_requested_at: aWorker().created_at })
    controller.loop.wake('w-1', 'test')
    await runFor(1_000)
    const routes = fleet.plane.requests.map(({ route }) => route)
    expect(routes.filter(name => name?.startsWith('reportWorker'))).toEqual([
      'reportWorkerMetrics',
      'reportWorkerStatus',
    ])
    expect(fleet.plane.requestsOf('reportWorkerMetrics')[0]?.body.nodes_count).toBe(0)
  })

  it('is reported as shutting down on a refresh request after its machine was terminated in EC2', async () => {
    await atRest()
    controller.loop.triggerNow()
    await runFor(1_000)
    fleet.model.ec2.terminateInstances('us-east-1', { ids: [(await worker()).ec2_instance_id ?? ''] })
    controller.loop.triggerNow()
    await runFor(1_000)
    expect(await worker()).toMatchObject({ status: 'TERMINATING', service_status: 'UNAVAILABLE' })
  })

  it('whose CML stops answering becomes UNAVAILABLE, also without a login', async () => {
    await atRest({}, { cmlDefaults: null })
    await runFor(10 * MINUTE_MS)
    expect(writes()).toEqual([])
    fleet.model.ec2.rebootInstances('us-east-1', { ids: [(await worker()).ec2_instance_id ?? ''] })
    for (let n = 0; n < 10 && (await worker()).service_status === 'AVAILABLE'; n += 1) await runFor(30_000)
    expect(await worker()).toMatchObject({ status: 'RUNNING', service_status: 'UNAVAILABLE' })
    expect((await worker()).conditions).toContainEqual(expect.objectContaining({ type: 'CmlReady', status: false }))
    await runFor(BOOTED_MS)
    expect(await worker()).toMatchObject({ status: 'RUNNING', service_status: 'AVAILABLE' })
  })

  it('whose CML stops answering becomes UNAVAILABLE, then AVAILABLE again', async () => {
    await atRest()
    fleet.model.ec2.rebootInstances('us-east-1', { ids: [(await worker()).ec2_instance_id ?? ''] })
    await runFor(BOOTED_MS)
    const statuses = writes().flatMap(({ body }) => Object.values(body).flatMap(each => serviceStatusIn(each)))
    expect(statuses).toEqual(['UNAVAILABLE', 'AVAILABLE'])
    expect(await worker()).toMatchObject({ status: 'RUNNING', service_status: 'AVAILABLE' })
  })
})

describe('a license', () => {
  it('that was requested is registered once, whatever an earlier probe has found', async () => {
    await atRest({ license: { ...NO_LICENSE, product: 'CML_Enterprise' } })
    const { others } = fleet.plane
    const params = { id: 'w-1' }
    await others().call('putWorkerLicense', { params, body: { product: 'CML_Enterprise', token: 'a-good-token' } })
    const seen = new Set<string>()
    for (let n = 0; n < 20; n += 1) {
      await runFor(MINUTE_MS)
      if (seen.has('REGISTERED')) expect((await worker()).license.status).toBe('REGISTERED')
      seen.add((await worker()).license.status)
    }
    expect((await worker()).license).toMatchObject({ status: 'REGISTERED', pending_operation: null })
    expect(controller.stats()).toMatchObject({ license_registered_count: 1, license_deregistered_count: 0 })
    await others().call('deleteWorkerLicense', { params })
    await runFor(10 * MINUTE_MS)
    expect((await worker()).license).toMatchObject({ status: 'UNREGISTERED', pending_operation: null })
    expect(controller.stats()).toMatchObject({ license_registered_count: 1, license_deregistered_count: 1 })
  })
})

describe('the status of this instance', () => {
  it('has machines without a worker record in its plan', async () => {
    const orphan = await fleet.launch({ tags: ourTags('w-gone') })
    await atRest()
    await runFor(10 * MINUTE_MS)
    expect(controller.plan()).toMatchObject([{ resource: `fleet:${orphan.instance_id}`, action: 'orphan_report' }])
  })

  it('has nothing about a worker that is gone', async () => {
    await atRest({ status: 'TERMINATING', desired_status: 'TERMINATED' })
    await runFor(BOOTED_MS)
    expect(controller.health()).toEqual({ workers_managed: 0, workers_with_drift: 0 })
    expect(meter.value('worker_ec2_state', { worker_id: 'w-1', state: 'terminated' })).toBeUndefined()
  })

  it('is empty while another instance leads', async () => {
    await atRest()
    expect(controller.health().workers_managed).toBe(1)
    fleet.plane.coordination.faults.loseLease('worker-controller')
    await runFor(0)
    expect([controller.health().workers_managed, controller.stats().running_worker_count]).toEqual([0, 0])
    await runFor(MINUTE_MS)
    expect(controller.health().workers_managed).toBe(1)
  })
})
