import { CloudError, NotLeadingError } from '@lcm/cloud/errors'
import { cmlControl } from '@lcm/cloud-sim/cml/cml-control-api'
import { simCompute } from '@lcm/cloud-sim/in-process/compute'
import { reason, textReason } from '@lcm/domain/reason'
import { type Decision, nothing, perform, wait } from '@lcm/domain/worker/decision/decision'
import type { Instance } from '@lcm/domain/worker/ec2-instance'
import { type Observation, WORKER_POLICY } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import { NO_LICENSE } from '@lcm/domain/worker/worker-field-schemas'
import { silentMeter } from '@lcm/runtime'
import { anObservation } from '@lcm/testkit/observation-builders'
import { anAttempt, aTemplate, aWorker, someLaunchParameters } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { fencedCompute } from './leader-only-compute.ts'
import { regionSnapshots } from './machine-list-cache.ts'
import { observe } from './observe.ts'
import { type PerformParts, performDecision } from './perform.ts'
import { type WorkerReconcile, workerCounters } from './report.ts'
import { type WorkerMemory, workerMemory } from './term-memory.ts'
import { aReconcile, resignations } from './testing/reconcile-context-fixture.ts'
import {
  aConfig,
  BOOTED_MS,
  FLEET,
  never,
  REGION,
  type SimulatedFleet,
  simulatedFleet,
} from './testing/simulated-cloud-and-api.ts'

const POLICY = { ...WORKER_POLICY, fleet: FLEET }
const HOLDING = {
  ...NO_LICENSE,
  status: 'DEREGISTERING',
  product: 'CML_Enterprise',
  udi: 'udi-1',
  hostname: 'cml-7',
} as const
const REGISTERING = { ...HOLDING, status: 'REGISTERING', pending_operation: 'register' } as const

let fleet: SimulatedFleet
let machine: Instance
let memory: WorkerMemory
let observed: (worker: Worker) => Promise<Observation>
let requested: [string, number][]
let parts: PerformParts

const writes = () => fleet.plane.requests.filter(({ ifMatch }) => ifMatch !== null)
const carryOut = async (worker: Worker, decision: Decision, more: Partial<WorkerReconcile> = {}) => {
  const stored = await fleet.record(worker)
  const seen = anObservation({ ec2: { kind: 'instance', instance: await fleet.see(machine) } })
  return performDecision(parts, stored, decision, aReconcile({ seen, ...more }))
}
const booted = (more: Partial<Worker> = {}) => fleet.workerOn(machine, more)

beforeEach(async () => {
  fleet = await simulatedFleet()
  requested = []
  const { client, machines, reads, cml, clock, logins, access } = fleet
  const probes = { latest: () => null, record: () => undefined }
  const config = aConfig()
  const snapshots = regionSnapshots({ machines, clock, config })
  memory = workerMemory(clock, config)
  const reading = { machines, reads, snapshots, cml, client, clock, config, logins, probes, access }
  observed = worker => observe({ ...reading, memory }, worker, POLICY, never)
  parts = {
    client,
    election: resignations().election,
    counters: workerCounters(silentMeter),
    machines,
    cml,
    logins,
    clock,
    memory,
    probes: { request: (worker, epoch) => void requested.push([worker.id, epoch]) },
    config,
    policy: POLICY,
  }
  machine = await fleet.launch()
  await fleet.clock.advance(BOOTED_MS)
})

describe('a decision to wait', () => {
  it('does nothing', async () => {
    expect(await carryOut(aWorker(), nothing(textReason('at rest')))).toEqual({ status: 'SUCCESS', message: 'at rest' })
    expect(await carryOut(aWorker(), wait(7_000, textReason('EC2 says pending')))).toMatchObject({
      status: 'REQUEUE',
      afterMs: 7_000,
    })
    expect([fleet.plane.requests, requested]).toEqual([[], []])
  })

  it('and to probe CML requests a probe in the current term, which is not due again at once', async () => {
    const worker = await booted()
    expect((await observed(worker)).isSurveyDue).toBe(true)
    expect(await carryOut(worker, perform({ kind: 'survey' }, textReason('it is time')))).toMatchObject({
      status: 'SUCCESS',
    })
    expect([requested, fleet.plane.requests]).toEqual([[['w-1', 3]], []])
    expect((await observed(worker)).isSurveyDue).toBe(false)
  })
})

describe('a launch', () => {
  const LAUNCH = perform({ kind: 'launch' }, textReason('attempt 1 is open'))

  async function wanted(more: Partial<Worker> = {}): Promise<Worker> {
    const image = await fleet.compute.newestImage(REGION, { name_pattern: 'cml-2.9.1-*', owner: 'self' }, never)
    const place = { image_id: image?.image_id ?? '', subnet_id: 'subnet-use1a' }
    return aWorker({ launch: anAttempt({ state: 'open', parameters: someLaunchParameters(place) }), ...more })
  }

  it('that is accepted is one write, with the machine in it', async () => {
    await carryOut(await wanted(), LAUNCH)
    expect(writes()).toMatchObject([
      { body: { changes: { status: 'PROVISIONING', ec2_instance_id: expect.stringMatching(/^i-/) } } },
    ])
    expect(parts.counters.snapshot(0).provisioned_count).toBe(1)
  })

  it('without EC2 capacity is remembered for every worker of that region', async () => {
    fleet.model.faults.setCapacity({ instance_type: 'm5zn.metal', availability_zone: 'us-east-1a' }, 0)
    await carryOut(await wanted(), LAUNCH)
    expect(writes()).toMatchObject([{ body: { changes: { launch: { state: 'refused' } } } }])
    await fleet.plane.put('templates', aTemplate())
    const seen = (aws_region: string) => observed(aWorker({ id: 'another', aws_region }))
    expect([...((await seen(REGION)).launch?.scarce.keys() ?? [])]).toEqual(['m5zn.metal/subnet-use1a'])
    expect((await seen('eu-west-1')).launch?.scarce.size).toBe(0)
  })

  it('that is refused for another reason affects no other worker', async () => {
    const lost = await wanted()
    const parameters = someLaunchParameters({ subnet_id: 'subnet-nowhere' })
    await carryOut({ ...lost, launch: anAttempt({ state: 'open', parameters }) }, LAUNCH)
    const seen = await observed(aWorker({ id: 'another' }))
    expect([writes().length, seen.launch?.scarce.size]).toEqual([1, 0])
  })
})

describe('the rate limit of the account', () => {
  /** Nothing is sent until the limit allows it. */
  function limited(retryAfterMs: number): PerformParts {
    const notNow = () =>
      Promise.reject(
        new CloudError('throttled', { code: 'RateLimited', action: 'a', message: 'not now', retryAfterMs }),
      )
    return { ...parts, machines: { ...parts.machines, launch: notNow, powerOne: notNow } }
  }

  it('requeues the launch until it may be sent, without searching for its machine meanwhile', async () => {
    const worker = aWorker({ launch: anAttempt({ state: 'open' }) })
    const observedAgain = () => observed(worker)
    expect((await observedAgain()).ec2).toMatchObject({ because: { code: 'instance_not_listed' } })
    const launch = perform({ kind: 'launch' }, textReason('attempt 1 is open'))
    memory.launches.opened(worker.id, anAttempt().client_token)
    await expect(performDecision(limited(625), worker, launch, aReconcile())).rejects.toMatchObject({
      retryAfterMs: 625,
    })
    expect((await observedAgain()).ec2).toEqual({
      kind: 'absent',
      confirmed: false,
      because: reason('attempt_not_sent', { attempt: 1 }),
    })
    memory.observations.launchSent(worker.id)
    memory.launches.sending(worker.id)
    expect((await observedAgain()).ec2).toMatchObject({ because: { code: 'instance_not_listed' } })
  })

  it('ends a launch that is no longer requested, unless it was sent before', async () => {
    const worker = aWorker({ launch: anAttempt({ state: 'open' }), desired_status: 'TERMINATED' })
    const isConfirmed = async () => {
      const { ec2 } = await observed(worker)
      return ec2.kind === 'absent' && ec2.confirmed
    }
    const launch = (given: PerformParts) =>
      performDecision(given, worker, perform({ kind: 'launch' }, textReason('attempt 1 is open')), aReconcile()).catch(
        () => null,
      )
    const lost = () =>
      Promise.reject(new CloudError('transient', { code: 'TimeoutError', action: 'launch', message: 'no answer' }))
    memory.launches.opened(worker.id, anAttempt().client_token)
    await launch(limited(625))
    expect(await isConfirmed()).toBe(true)
    await launch({ ...parts, machines: { ...parts.machines, launch: lost } })
    await launch(limited(625))
    expect(await isConfirmed()).toBe(false)
  })

  it('requeues a stop until it may be sent', async () => {
    const worker = await booted({ status: 'STOPPING', desired_status: 'STOPPED' })
    const stop = perform({ kind: 'stop', force: false }, reason('ec2_reports', { state: 'running' }))
    await expect(performDecision(limited(40), worker, stop, aReconcile())).rejects.toMatchObject({ retryAfterMs: 40 })
  })
})

describe('a license', () => {
  const DEREGISTER = perform({ kind: 'deregister_license' }, textReason('it must be returned'))
  const REGISTER = perform({ kind: 'register_license' }, textReason('CML is not registered yet'))
  const isRegistered = () => fleet.model.cml.smartAccount().length > 0

  function userStartsLab(): void {
    const url = `/sim/v1/instances/${machine.instance_id}/cml/start-lab`
    const answer = cmlControl(fleet.model)({ method: 'POST', url, body: JSON.stringify({ username: 'ada' }) })
    expect(answer?.status).toBeLessThan(300)
  }

  async function registered(more: Partial<Worker> = {}): Promise<Worker> {
    const worker = await booted({ status: 'TERMINATING', desired_status: 'TERMINATED', license: HOLDING, ...more })
    await fleet.recordWith(worker, { license: 'a-good-token' })
    await carryOut({ ...worker, status: 'RUNNING', license: REGISTERING }, REGISTER)
    await fleet.clock.advance(5 * 60_000)
    expect(isRegistered()).toBe(true)
    fleet.plane.requests.length = 0
    return worker
  }

  it('is requested, and recorded once CML has accepted the request', async () => {
    const worker = await booted({ license: REGISTERING })
    await fleet.recordWith(worker, { license: 'a-good-token' })
    expect(await carryOut(worker, REGISTER)).toMatchObject({ status: 'REQUEUE', afterMs: 5_000 })
    expect(writes()).toMatchObject([{ body: { changes: { license: { unsettled: 'register' } } } }])
  })

  it("that can't be registered fails the operation with a message", async () => {
    const worker = await booted({ license: REGISTERING })
    await carryOut(worker, REGISTER)
    expect(writes()).toMatchObject([
      { body: { changes: { license: { status: 'FAILED', last_error: expect.stringContaining('no license token') } } } },
    ])
  })

  it('that is returned is one write', async () => {
    await carryOut(await registered({ status: 'RUNNING', desired_status: 'RUNNING' }), DEREGISTER)
    expect(writes()).toMatchObject([{ body: { changes: { license: { status: 'UNREGISTERED', last_error: null } } } }])
    expect(parts.counters.snapshot(0).license_deregistered_count).toBe(1)
    expect(isRegistered()).toBe(false)
  })

  it('that is returned before a termination is read once more before it counts as returned', async () => {
    expect(await carryOut(await registered(), DEREGISTER)).toMatchObject({ status: 'REQUEUE', afterMs: 5_000 })
    expect(writes()).toMatchObject([{ body: { changes: { license: { status: 'DEREGISTERING', unsettled: null } } } }])
    expect(isRegistered()).toBe(false)
  })

  it('that was returned is remembered until that is recorded', async () => {
    const worker = await registered({ license: { ...HOLDING, unsettled: 'deregister' } })
    const isHeard = async (each: Worker) => (await observed(each)).isReturnHeard
    expect(await isHeard(worker)).toBe(false)
    fleet.plane.fail({ route: 'reportWorkerStatus', effect: 'version_mismatch', times: 1 })
    await carryOut(worker, DEREGISTER)
    expect(await isHeard(worker)).toBe(true)
    expect(await isHeard({ ...worker, license: HOLDING })).toBe(false)
    expect(await isHeard(worker)).toBe(false)
  })

  it('that was returned once does not count as returned the next time', async () => {
    const worker = await registered({ license: { ...HOLDING, unsettled: 'deregister' } })
    memory.returnedLicenses.add(worker.id)
    parts = { ...parts, cml: { ...parts.cml, deregister: () => Promise.reject(new Error('it broke')) } }
    await expect(carryOut(worker, DEREGISTER)).rejects.toThrow('it broke')
    expect((await observed(worker)).isReturnHeard).toBe(false)
    memory.returnedLicenses.add(worker.id)
    memory = workerMemory(fleet.clock, aConfig())
    expect((await observed(worker)).isReturnHeard).toBe(false)
  })

  it('that stays registered is recorded as a leak before the worker record changes', async () => {
    const worker = await registered()
    fleet.setServer(machine, { faults: { license_server: 'not_reached' } })
    await carryOut(worker, DEREGISTER)
    expect(fleet.plane.requests.map(({ route }) => route)).toEqual(['reportLicenseLeak', 'reportWorkerStatus'])
    expect(fleet.plane.requests).toMatchObject([
      {
        epoch: 3,
        body: {
          worker_id: 'w-1',
          udi: 'udi-1',
          hostname: 'cml-7',
          product: 'CML_Enterprise',
          reason: { code: 'license_left_behind' },
        },
      },
      { ifMatch: expect.any(Number), epoch: 3, body: { changes: { license: { status: 'UNREGISTERED' } } } },
    ])
  })

  it("that can't be returned while labs run has them stopped in the current term, once that is recorded", async () => {
    const worker = await registered({ cml: (await booted()).cml })
    userStartsLab()
    await carryOut(worker, DEREGISTER)
    const error = expect.stringContaining('while labs are running')
    const refused = { code: 'license_return_refused', params: { error } }
    expect(writes()).toMatchObject([
      { body: { changes: { conditions: [{ type: 'ReturningLicense', reason: refused }] } } },
    ])
    expect(fleet.plane.requestsOf('stopWorkerLabs')).toEqual([])
    await carryOut(await fleet.plane.get('workers', 'w-1'), DEREGISTER)
    expect(fleet.plane.requestsOf('stopWorkerLabs')).toMatchObject([{ id: 'w-1', epoch: 3, body: { reason: refused } }])
    expect(isRegistered()).toBe(true)
  })

  it('is not recorded as gone when its leak could not be recorded', async () => {
    const changes = { license: { status: 'UNREGISTERED' } } as const
    fleet.plane.fail({ route: 'reportLicenseLeak', effect: 'store_unavailable', times: 1 })
    const leaking = carryOut(
      aWorker({ license: HOLDING }),
      perform({ kind: 'record_leak', changes }, textReason('it is gone')),
    )
    await expect(leaking).rejects.toThrow('store_unavailable')
    expect(writes()).toEqual([])
  })

  const LOST = { leadership: { epoch: 3, signal: never, isHeld: () => false } }

  it('is not returned after leadership was lost', async () => {
    const worker = await registered()
    await expect(carryOut(worker, DEREGISTER, LOST)).rejects.toBeInstanceOf(NotLeadingError)
    expect([fleet.plane.requests, isRegistered()]).toEqual([[], true])
  })

  it('is not registered after leadership was lost', async () => {
    const worker = await booted({ license: REGISTERING })
    await fleet.recordWith(worker, { license: 'a-good-token' })
    await expect(carryOut(worker, REGISTER, LOST)).rejects.toBeInstanceOf(NotLeadingError)
    await fleet.clock.advance(5 * 60_000)
    expect([writes(), isRegistered()]).toEqual([[], false])
  })

  it('of a server without an address waits for the address', async () => {
    await fleet.compute.power(REGION, 'stop', [machine.instance_id], never)
    const result = await carryOut(aWorker({ license: HOLDING }), DEREGISTER)
    expect(result).toMatchObject({ status: 'REQUEUE', message: 'CML has no address yet' })
  })
})

describe('a change of its machine', () => {
  it('is no write: the next reconcile observes its result', async () => {
    const worker = await booted({ status: 'STOPPING', desired_status: 'STOPPED' })
    const result = await carryOut(
      worker,
      perform({ kind: 'stop', force: false }, reason('ec2_reports', { state: 'running' })),
    )
    expect(result).toMatchObject({ status: 'REQUEUE', message: 'EC2 reports the instance as stopping' })
    expect(fleet.plane.requests).toEqual([])
  })
})

describe('a decision to set the name of a machine', () => {
  const TAG = perform({ kind: 'tag', tags: { Name: 'ada' }, afterMs: 30_000 }, textReason('it was renamed'))

  it('sets it, keeps the other tags, and is requeued', async () => {
    const worker = await booted({ status: 'RUNNING', name: 'ada' })
    const { tags: before } = await fleet.see(machine)
    expect(await carryOut(worker, TAG)).toMatchObject({ status: 'REQUEUE', afterMs: 30_000 })
    expect((await fleet.see(machine)).tags).toEqual({ ...before, Name: 'ada' })
    expect(writes()).toEqual([])
  })

  it('is no error when EC2 refuses it, and is not repeated before the end of its pause', async () => {
    const worker = await booted({ status: 'RUNNING', name: 'ada' })
    const refusal = new CloudError('auth', { code: 'UnauthorizedOperation', action: 'CreateTags', message: 'not you' })
    const refusing = { ...parts.machines, tag: () => Promise.reject(refusal) }
    await fleet.plane.put('workers', worker)
    expect(await performDecision({ ...parts, machines: refusing }, worker, TAG, aReconcile())).toMatchObject({
      status: 'REQUEUE',
      afterMs: 30_000,
      message: expect.stringContaining('UnauthorizedOperation'),
    })
    expect((await observed(worker)).tagPauseMs).toBe(60_000)
  })

  it('is requeued until the rate limit allows it, which does not count as a repetition', async () => {
    const worker = await booted({ status: 'RUNNING', name: 'ada' })
    const busy = { code: 'NotNow', action: 'tag', message: 'nothing was sent', retryAfterMs: 125 }
    const limited = { ...parts.machines, tag: () => Promise.reject(new CloudError('throttled', busy)) }
    await fleet.plane.put('workers', worker)
    const tagging = performDecision({ ...parts, machines: limited }, worker, TAG, aReconcile())
    await expect(tagging).rejects.toMatchObject({ retryAfterMs: 125 })
    expect((await observed(worker)).tagPauseMs).toBe(0)
  })

  it('is not sent after leadership was lost', async () => {
    const fenced = fencedCompute(simCompute(fleet.model), () => false)
    const { tags: before } = await fleet.see(machine)
    await expect(fenced.tag(REGION, machine.instance_id, { Name: 'x' }, never)).rejects.toBeInstanceOf(NotLeadingError)
    expect((await fleet.see(machine)).tags).toEqual(before)
  })
})
