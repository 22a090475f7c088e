import type { Compute } from '@lcm/cloud/compute'
import { CloudError } from '@lcm/cloud/errors'
import { localCoordination } from '@lcm/coordination/local/coordination'
import { NO_LICENSE } from '@lcm/domain/worker/parts'
import type { Worker } from '@lcm/domain/worker/worker'
import { silentLogger } from '@lcm/runtime'
import { aTemplate, aWorker } from '@lcm/testkit/builders'
import { type RecordingMeter, recordingMeter } from '@lcm/testkit/recording-meter'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Controller } from '../kit/controller.ts'
import { decisionLog } from '../kit/decision-log.ts'
import type { WorkerControllerConfig } from './config.ts'
import { workerController } from './controller.ts'
import { leaderOnlyCompute } from './leader-only-compute.ts'
import { aConfig, BOOTED_MS, ourTags, REGION, type SimulatedFleet, simulatedFleet } from './testing/simulated-fleet.ts'

const MINUTE_MS = 60_000

let fleet: SimulatedFleet
let meter: RecordingMeter
let coordination: ReturnType<typeof localCoordination>
let controller: Controller
let ending: () => Promise<void>

const worker = () => fleet.api.worker('w-1')
const writes = () => fleet.api.received.filter(({ ifMatch }) => ifMatch !== null)
const change = (more: Partial<Worker>) => fleet.api.put({ ...worker(), ...more, version: worker().version + 1 })
const serviceStatusIn = (changes: unknown): unknown[] =>
  typeof changes === 'object' && changes !== null && 'service_status' in changes ? [changes.service_status] : []
const runFor = (ms: number) => fleet.clock.advance(ms)

function begin(config: Partial<WorkerControllerConfig> = {}, compute = fleet.compute): void {
  const { api, clock, cml, metrics } = fleet
  coordination = localCoordination({ clock, firstEpoch: () => 1 })
  controller = workerController({
    ...leaderOnlyCompute({ compute, clock, election: coordination.election('worker-controller', 'one') }),
    client: api.client,
    metrics,
    cml,
    changeKeys: coordination.changeKeys,
    decisions: decisionLog({ client: api.client, clock, logger: silentLogger, instanceId: 'one' }),
    clock,
    logger: silentLogger,
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
async function atRest(more: Partial<Worker> = {}, config: Partial<WorkerControllerConfig> = {}): Promise<void> {
  const machine = await fleet.launch({ tags: ourTags('w-1') })
  await runFor(BOOTED_MS)
  fleet.setServer(machine, { opt_in: true })
  fleet.api.put(await fleet.workerOn(machine, more))
  begin(config)
  await runFor(MINUTE_MS)
  fleet.api.received.length = 0
}

beforeEach(() => {
  fleet = simulatedFleet()
  meter = recordingMeter()
})

describe('calls that take minutes', () => {
  it('hold up no other worker: neither launches nor CML servers that do not answer', async () => {
    fleet.api.templates.set('metal', aTemplate({ ami_name_pattern: 'cml-2.9.1-*' }))
    const machine = await fleet.launch({ tags: ourTags('w-1') })
    await runFor(BOOTED_MS)
    fleet.api.put(await fleet.workerOn(machine))
    for (let n = 0; n < 6; n += 1) {
      fleet.api.put(aWorker({ id: `w-new-${n}`, aws_region: REGION }))
      const booting = await fleet.workerOn(machine, { id: `w-boots-${n}`, status: 'STARTING' })
      fleet.api.put({ ...booting, service_status: 'STARTING' })
    }
    const slowly = async (signal: AbortSignal): Promise<never> => {
      await fleet.clock.sleep(10 * MINUTE_MS, signal)
      throw new CloudError('transient', { code: 'TimeoutError', action: 'slow', message: 'no answer' })
    }
    fleet = { ...fleet, cml: { ...fleet.cml, probe: (_, signal) => slowly(signal) } }
    begin({}, { ...fleet.compute, launch: (_region, _request, signal) => slowly(signal) })
    await runFor(MINUTE_MS)
    change({ desired_status: 'STOPPED' })
    await runFor(MINUTE_MS)
    expect(worker().status).toBe('STOPPING')
    await ending()
  })
})

describe('an account that AWS refuses', () => {
  it('is a problem of the controller, is asked slowly, and is well again once a launch is taken', async () => {
    fleet.api.templates.set('metal', aTemplate({ ami_name_pattern: 'cml-2.9.1-*' }))
    fleet.api.put(aWorker({ aws_region: 'us-east-1' }))
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
    expect(controller.problems?.()).toEqual([expect.stringMatching(/RunInstances of .* in us-east-1 .*VcpuLimit/)])
    expect(worker()).toMatchObject({ status: 'PENDING', conditions: [{ reason: 'VcpuLimitExceeded' }] })
    isFull = false
    await runFor(2 * MINUTE_MS)
    expect([launches, controller.problems?.(), worker().ec2_instance_id]).toEqual([2, [], expect.any(String)])
  })

  it('is of no concern to who leads no longer', async () => {
    fleet.api.put(aWorker({ aws_region: 'us-east-1', ec2_instance_id: 'i-1', status: 'RUNNING' }))
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
    const { cml } = fleet
    let isCut = false
    const cut = () => new CloudError('transient', { code: 'TimeoutError', action: 'stats', message: 'no answer' })
    const stats: typeof cml.stats = async (...asked) => (isCut ? Promise.reject(cut()) : cml.stats(...asked))
    fleet = { ...fleet, cml: { ...cml, stats } }
    await atRest()
    isCut = true
    await runFor(15 * MINUTE_MS)
    expect(controller.problems?.()).toEqual([expect.stringContaining('CML of 1 of 1 running workers has not answered')])
    change({ desired_status: 'STOPPED' })
    await runFor(30 * MINUTE_MS)
    expect(worker().status).toBe('STOPPED')
    isCut = false
    change({ desired_status: 'RUNNING' })
    const problems = new Set<string>()
    for (let second = 0; second < BOOTED_MS / 1000; second += 1) {
      await runFor(1_000)
      for (const problem of controller.problems?.() ?? []) problems.add(problem)
    }
    expect([worker().status, ...problems]).toEqual(['RUNNING'])
    await ending()
  })
})

describe('the life of a worker', () => {
  it('is counted once for each of its turns', async () => {
    fleet.api.templates.set('metal', aTemplate({ ami_name_pattern: 'cml-2.9.1-*' }))
    fleet.api.put(aWorker({ aws_region: 'us-east-1' }))
    begin()
    await runFor(BOOTED_MS)
    expect(worker()).toMatchObject({ status: 'RUNNING', service_status: 'AVAILABLE' })
    expect(controller.stats()).toMatchObject({ provisioned_count: 1, started_count: 1, running_worker_count: 1 })
    change({ desired_status: 'STOPPED' })
    await runFor(BOOTED_MS)
    expect(controller.stats()).toMatchObject({ started_count: 1, stopped_count: 1, running_worker_count: 0 })
    change({ desired_status: 'RUNNING' })
    await runFor(BOOTED_MS)
    expect(controller.stats()).toMatchObject({ started_count: 2, stopped_count: 1, terminated_count: 0 })
    change({ desired_status: 'TERMINATED' })
    await runFor(BOOTED_MS)
    expect(worker().status).toBe('TERMINATED')
    expect(controller.stats()).toMatchObject({ provisioned_count: 1, stopped_count: 1, terminated_count: 1 })
    expect(fleet.api.callsOf('reportLicenseLeak')).toEqual([])
  })
})

describe('a worker at rest', () => {
  it('is visited and measured, and nothing is written', async () => {
    await atRest()
    await runFor(60 * MINUTE_MS)
    expect(writes()).toEqual([])
    expect(fleet.api.callsOf('checkWorkerIdle')).toHaveLength(12)
    expect(fleet.api.callsOf('reportWorkerMetrics')).toHaveLength(60)
    expect(controller.stats()).toMatchObject({ idle_detection_count: 13, auto_pause_count: 0 })
    expect([controller.plan(), controller.health()]).toEqual([[], { workers_managed: 1, workers_with_drift: 0 }])
  })

  it('that somebody wants looked at is looked at once, and that is said', async () => {
    await atRest()
    change({ refresh_requested_at: aWorker().created_at })
    await runFor(10 * MINUTE_MS)
    expect(worker().refresh_requested_at).toBeNull()
    expect(writes()).toHaveLength(1)
  })

  it('that somebody wants looked at is measured at once, and once, before that is said to be done', async () => {
    await atRest()
    // The next look of the metrics loop itself is some way off.
    await runFor(15_000)
    fleet.api.received.length = 0
    change({ refresh_requested_at: aWorker().created_at })
    controller.loop.wake('w-1', 'test')
    await runFor(1_000)
    const told = fleet.api.received.map(({ name }) => name)
    expect(told.filter(name => name.startsWith('reportWorker'))).toEqual(['reportWorkerMetrics', 'reportWorkerStatus'])
    expect(fleet.api.callsOf('reportWorkerMetrics')[0]?.body.nodes_count).toBe(0)
  })

  it('whose machine dies behind our back is told to be dying at the look that somebody asks for', async () => {
    await atRest()
    controller.loop.triggerNow()
    await runFor(1_000)
    fleet.model.ec2.terminateInstances('us-east-1', { ids: [worker().ec2_instance_id ?? ''] })
    controller.loop.triggerNow()
    await runFor(1_000)
    expect(worker()).toMatchObject({ status: 'TERMINATING', service_status: 'UNAVAILABLE' })
  })

  it('whose CML goes silent is found unavailable also where nobody knows how to log in', async () => {
    await atRest({}, { cmlDefaults: null })
    await runFor(10 * MINUTE_MS)
    expect(writes()).toEqual([])
    fleet.model.ec2.rebootInstances('us-east-1', { ids: [worker().ec2_instance_id ?? ''] })
    for (let n = 0; n < 10 && worker().service_status === 'AVAILABLE'; n += 1) await runFor(30_000)
    expect(worker()).toMatchObject({ status: 'RUNNING', service_status: 'UNAVAILABLE' })
    expect(worker().conditions).toContainEqual(expect.objectContaining({ type: 'CmlReady', status: false }))
    await runFor(BOOTED_MS)
    expect(worker()).toMatchObject({ status: 'RUNNING', service_status: 'AVAILABLE' })
  })

  it('whose CML goes silent is found unavailable, and available again', async () => {
    await atRest()
    fleet.model.ec2.rebootInstances('us-east-1', { ids: [worker().ec2_instance_id ?? ''] })
    await runFor(BOOTED_MS)
    const said = writes().flatMap(({ body }) => Object.values(body).flatMap(each => serviceStatusIn(each)))
    expect(said).toEqual(['UNAVAILABLE', 'AVAILABLE'])
    expect(worker()).toMatchObject({ status: 'RUNNING', service_status: 'AVAILABLE' })
  })
})

describe('a license', () => {
  it('that was asked for is registered once, whatever an earlier visit had found', async () => {
    await atRest({ license: { ...NO_LICENSE, product: 'CML_Enterprise' } })
    fleet.api.secrets.set('w-1', { license_token: 'a-good-token' })
    change({ license: { ...worker().license, pending_operation: 'register' } })
    const seen = new Set<string>()
    for (let n = 0; n < 20; n += 1) {
      await runFor(MINUTE_MS)
      if (seen.has('REGISTERED')) expect(worker().license.status).toBe('REGISTERED')
      seen.add(worker().license.status)
    }
    expect(worker().license).toMatchObject({ status: 'REGISTERED', pending_operation: null })
    expect(controller.stats()).toMatchObject({ license_registered_count: 1, license_deregistered_count: 0 })
    change({ license: { ...worker().license, pending_operation: 'deregister' } })
    await runFor(10 * MINUTE_MS)
    expect(worker().license).toMatchObject({ status: 'UNREGISTERED', pending_operation: null })
    expect(controller.stats()).toMatchObject({ license_registered_count: 1, license_deregistered_count: 1 })
  })
})

describe('what this instance tells of the fleet', () => {
  it('has the machines that no record stands for in its plan', async () => {
    const orphan = await fleet.launch({ tags: ourTags('w-gone') })
    await atRest()
    await runFor(10 * MINUTE_MS)
    expect(controller.plan()).toMatchObject([{ resource: `fleet:${orphan.instance_id}`, action: 'orphan_report' }])
  })

  it('is nothing of a worker that is gone', async () => {
    await atRest({ status: 'TERMINATING', desired_status: 'TERMINATED' })
    await runFor(BOOTED_MS)
    expect(controller.health()).toEqual({ workers_managed: 0, workers_with_drift: 0 })
    expect(meter.value('worker_ec2_state', { worker_id: 'w-1', state: 'terminated' })).toBeUndefined()
  })

  it('is nothing while another one leads', async () => {
    await atRest()
    expect(controller.health().workers_managed).toBe(1)
    coordination.faults.loseLease('worker-controller')
    await runFor(0)
    expect([controller.health().workers_managed, controller.stats().running_worker_count]).toEqual([0, 0])
    await runFor(MINUTE_MS)
    expect(controller.health().workers_managed).toBe(1)
  })
})
