import { ApiError, type Client } from '@lcm/client/client'
import { cmlAccessTracker } from '@lcm/cloud/cml-access-tracker'
import type { Compute } from '@lcm/cloud/compute'
import { batchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import { CloudError } from '@lcm/cloud/errors'
import { simCmlSystem } from '@lcm/cloud-sim/in-process/cml-system'
import { simCompute } from '@lcm/cloud-sim/in-process/compute'
import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { assert } from '@lcm/domain/assert'
import { reason, textReason } from '@lcm/domain/reason'
import { factsOf } from '@lcm/domain/worker/cml-endpoint'
import { type Instance, TAG } from '@lcm/domain/worker/ec2-instance'
import { type Observation, WORKER_POLICY, type WorkerPolicy } from '@lcm/domain/worker/observation'
import { type Worker, withChanges } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { manualClock } from '@lcm/testkit/manual-clock'
import { anAttempt, aTemplate, aWorker, someLaunchParameters } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { cmlLogins } from './cml-logins.ts'
import type { CmlProbe } from './cml-probes.ts'
import { WORKER_CONTROLLER_DEFAULTS } from './config.ts'
import { regionSnapshots } from './machine-list-cache.ts'
import { type ObserveParts, observe } from './observe.ts'
import { type WorkerMemory, workerMemory } from './term-memory.ts'
import {
  aConfig,
  BOOTED_MS,
  FLEET,
  never,
  REGION,
  type SimulatedFleet,
  simulatedFleet,
  someReads,
} from './testing/simulated-cloud-and-api.ts'

const POLICY = { ...WORKER_POLICY, fleet: FLEET }
const regionConfig = { security_group_ids: [], subnets: ['subnet-use1a'], key_name: null, default_tags: {} }

let clock: ReturnType<typeof manualClock>
let compute: Compute
let calls: string[]
let observing: Observing

/** Observes with a memory of its own. */
interface Observing {
  observe(worker: Worker, policy: WorkerPolicy, signal: AbortSignal): Promise<Observation>
  readonly memory: WorkerMemory
}

const observingWith = (parts: ObserveParts): Observing => ({
  memory: parts.memory,
  observe: (worker, policy, signal) => observe(parts, worker, policy, signal),
})

/** Counts the calls to the cloud. */
const counted = (port: Compute): Compute => ({
  ...port,
  list: (...args) => {
    calls.push('list')
    return port.list(...args)
  },
  describe: (...args) => {
    calls.push('describe')
    return port.describe(...args)
  },
})

const templatesOnly: Client = {
  async call() {
    throw new ApiError({ type: '', title: '', status: 404, detail: 'no template', code: 'not_found' })
  },
  async *events() {
    yield* []
  },
  download: () => Promise.reject(new Error('controllers take no backups')),
}

const CONFIG = {
  ...WORKER_CONTROLLER_DEFAULTS,
  fleet: FLEET,
  regions: { [REGION]: regionConfig },
  policy: WORKER_POLICY,
}

function partsOn(
  port: Compute,
  model: Parameters<typeof simCmlSystem>[0],
  client = templatesOnly,
  itsClock: Clock = clock,
): ObserveParts {
  const machines = batchedCompute(port)
  return {
    machines,
    reads: someReads(itsClock),
    snapshots: regionSnapshots({ machines, clock: itsClock, config: CONFIG }),
    cml: simCmlSystem(model),
    client,
    clock: itsClock,
    logins: cmlLogins(client, null),
    access: cmlAccessTracker(itsClock, () => undefined),
    probes: { latest: () => null, record: () => undefined },
    memory: workerMemory(itsClock, CONFIG),
    config: CONFIG,
  }
}

const observerOn = (...args: Parameters<typeof partsOn>): Observing => observingWith(partsOn(...args))

async function launchMachine(token = 'b'.repeat(64)): Promise<Instance> {
  const image = await compute.newestImage(REGION, { name_pattern: 'cml-2.9.1-*', owner: 'self' }, never)
  const tags = { [TAG.workerId]: 'w-1', [TAG.fleet]: FLEET }
  const parameters = someLaunchParameters({ image_id: image?.image_id ?? '', subnet_id: 'subnet-use1a', tags })
  return compute.launch(REGION, { client_token: token, parameters, user_data: null }, never)
}

const running = (instance: Instance, more: Partial<Worker> = {}) =>
  aWorker({
    status: 'RUNNING',
    service_status: 'AVAILABLE',
    ec2_instance_id: instance.instance_id,
    launch: anAttempt(),
    cml: { ...aWorker().cml, certificate_sha256: 'ab'.repeat(32) },
    ...more,
  })

beforeEach(() => {
  clock = manualClock()
  const model = openSimModel({ seed: 3, clock })
  calls = []
  compute = counted(simCompute(model))
  observing = observerOn(compute, model)
})

describe('results of an earlier CML', () => {
  const license = { kind: 'unknown', because: reason('nothing_launched') } as const
  const refused = { login: { message: 'wrong password', sinceMs: 1 } } as const
  /** An observer with leftovers of a machine that the worker had before. */
  const withLeftovers = () =>
    observingWith({
      ...partsOn(compute, openSimModel({ seed: 3, clock })),
      probes: { latest: () => ({ license, nodeDefinitions: ['old'] }), record: () => undefined },
      access: { accessTo: () => refused, isOutdated: () => true, forget: () => undefined },
    })

  it.each(['PENDING', 'PROVISIONING'] as const)('are not shown before the first boot: %s', async status => {
    const seen = await withLeftovers().observe(aWorker({ status, desired_status: 'STOPPED' }), POLICY, never)
    expect(seen).toMatchObject({ license: null, nodeDefinitions: null, isSurveyDue: false, access: {} })
    expect(seen.access).toEqual({})
  })

  it('are shown while the worker runs', async () => {
    const worker = running(await launchMachine())
    const seen = await withLeftovers().observe(worker, POLICY, never)
    expect(seen).toMatchObject({ nodeDefinitions: ['old'], isSurveyDue: true, access: refused })
  })
})

describe('reading EC2', () => {
  it('sends no request when nothing was ever launched', async () => {
    const seen = await observing.observe(aWorker({ desired_status: 'STOPPED' }), POLICY, never)
    expect(seen.ec2).toEqual({ kind: 'absent', confirmed: true, because: reason('nothing_launched') })
    expect(calls).toEqual([])
  })

  it('shares one listing among all workers at rest', async () => {
    const { instance_id } = await launchMachine()
    await clock.advance(5 * 60_000)
    const [machine] = (await compute.describe(REGION, [instance_id], never)).found
    const worker = machine ? withChanges(running(machine), factsOf(aWorker(), machine, 'public')) : aWorker()
    calls.length = 0
    await Promise.all(Array.from({ length: 20 }, () => observing.observe(worker, POLICY, never)))
    expect(calls).toEqual(['list'])
    await clock.advance(30_000)
    await observing.observe(worker, POLICY, never)
    expect(calls).toEqual(['list', 'list'])
  })

  it('confirms a change in an old listing by a fresh read', async () => {
    const model = openSimModel({ seed: 3, clock, speed: 600 })
    compute = counted(simCompute(model))
    observing = observerOn(compute, model)
    const machine = await launchMachine()
    await clock.advance(60_000)
    await compute.power(REGION, 'stop', [machine.instance_id], never)
    await clock.advance(5_000)
    const stopped = running(machine, { status: 'STOPPED', desired_status: 'STOPPED', service_status: 'UNAVAILABLE' })
    expect((await observing.observe(stopped, POLICY, never)).ec2).toMatchObject({ instance: { state: 'stopped' } })
    await compute.power(REGION, 'start', [machine.instance_id], never)
    await clock.advance(5_000)
    expect((await observing.observe(running(machine), POLICY, never)).ec2).toMatchObject({
      instance: { state: 'running' },
    })
  })

  it('never pins the certificate of the server at an address that the machine has already lost', async () => {
    const model = openSimModel({ seed: 3, clock, speed: 600 })
    compute = counted(simCompute(model))
    observing = observerOn(compute, model)
    const { instance_id } = await launchMachine()
    await clock.advance(60_000)
    const [machine] = (await compute.describe(REGION, [instance_id], never)).found
    assert(machine, 'it was launched')
    const approved = (more: Partial<Worker> = {}) => {
      const worker = running(machine, { service_status: 'UNAVAILABLE', ...more })
      return withChanges(worker, factsOf(aWorker(), machine, 'public'))
    }
    // A worker at rest has the region listed.
    await observing.observe(approved(), POLICY, never)
    await compute.power(REGION, 'stop', [instance_id], never)
    await clock.advance(5_000)
    const seen = await observing.observe(approved({ cml: aWorker().cml }), POLICY, never)
    expect(seen.ec2).not.toMatchObject({ instance: { state: 'running' } })
    expect(seen.cml).toBeNull()
  })

  it('reads the machine itself while something changes', async () => {
    const machine = await launchMachine()
    await clock.advance(60_000)
    const seen = await observing.observe(running(machine, { desired_status: 'STOPPED' }), POLICY, never)
    expect(seen.ec2).toMatchObject({ kind: 'instance', instance: { instance_id: machine.instance_id } })
    expect(calls).toEqual(['describe'])
  })

  it('finds a machine that was launched but never recorded, by its token or by our tag', async () => {
    const machine = await launchMachine()
    await clock.advance(60_000)
    for (const client_token of ['b'.repeat(64), 'c'.repeat(64)]) {
      const seen = await observing.observe(
        aWorker({ launch: anAttempt({ state: 'open', client_token }) }),
        POLICY,
        never,
      )
      expect(seen.ec2).toMatchObject({ kind: 'instance', instance: { instance_id: machine.instance_id } })
    }
  })

  it('confirms that a machine is absent only after a while', async () => {
    const lost = aWorker({ status: 'RUNNING', ec2_instance_id: 'i-0123456789abcdef0', desired_status: 'STOPPED' })
    expect((await observing.observe(lost, POLICY, never)).ec2).toMatchObject({ kind: 'absent', confirmed: false })
    await clock.advance(61_000)
    expect((await observing.observe(lost, POLICY, never)).ec2).toMatchObject({ kind: 'absent', confirmed: true })
  })

  it('is unknown when EC2 does not answer', async () => {
    const broken = {
      ...compute,
      describe: async () =>
        Promise.reject(
          new CloudError('transient', { code: 'Timeout', action: 'DescribeInstances', message: 'no answer' }),
        ),
    }
    const model = openSimModel({ seed: 3, clock })
    const seen = await observerOn(broken, model).observe(
      aWorker({ status: 'RUNNING', ec2_instance_id: 'i-1', desired_status: 'STOPPED' }),
      POLICY,
      never,
    )
    const because = reason('ec2_read_failed', { action: 'DescribeInstances', aws_code: 'Timeout' })
    expect(seen.ec2).toEqual({ kind: 'unknown', because, sinceMs: null })
  })
})

describe('probing CML', () => {
  it('happens while a worker starts, at the address that EC2 shows', async () => {
    const machine = await launchMachine()
    await clock.advance(30 * 60_000)
    const starting = running(machine, { status: 'STARTING', service_status: 'STARTING', cml: aWorker().cml })
    expect((await observing.observe(starting, POLICY, never)).cml).toMatchObject({
      stage: 'READY',
      ready_streak: 1,
      version: '2.9.1+build.7',
    })
    expect((await observing.observe(starting, POLICY, never)).cml).toMatchObject({ ready_streak: 1 })
    await clock.advance(10_000)
    expect((await observing.observe(starting, POLICY, never)).cml).toMatchObject({ ready_streak: 2 })
  })

  it('continues when the clock is set back, like surveys', async () => {
    let behindMs = 0
    const model = openSimModel({ seed: 3, clock })
    compute = simCompute(model)
    const machine = await launchMachine()
    await clock.advance(30 * 60_000)
    const set = observerOn(compute, model, templatesOnly, { ...clock, now: () => clock.now() - behindMs })
    const starting = running(machine, { status: 'STARTING', service_status: 'STARTING', cml: aWorker().cml })
    await set.observe(starting, POLICY, never)
    set.memory.probes.requested('w-1', clock.monotonic())
    behindMs = 3_600_000
    await clock.advance(5 * 60_000)
    expect((await set.observe(starting, POLICY, never)).cml).toMatchObject({ ready_streak: 2 })
    expect((await set.observe(running(machine), POLICY, never)).isSurveyDue).toBe(true)
  })

  it('does not happen while a worker is at rest', async () => {
    const machine = await launchMachine()
    await clock.advance(30 * 60_000)
    expect((await observing.observe(running(machine), POLICY, never)).cml).toBeNull()
  })

  it.each<[string, Partial<Worker>]>([
    ['its certificate must be pinned again', { cml: aWorker().cml }],
    ['its certificate must be pinned again while it drains', { cml: aWorker().cml, status: 'DRAINING' }],
    ['a refresh was requested', { refresh_requested_at: aWorker().created_at, cml: aWorker().cml }],
  ])('happens again when %s', async (_, more) => {
    const machine = await launchMachine()
    await clock.advance(30 * 60_000)
    expect((await observing.observe(running(machine, more), POLICY, never)).cml).toMatchObject({ stage: 'READY' })
  })

  it('happens again when a check of CML failed', async () => {
    const machine = await launchMachine()
    await clock.advance(30 * 60_000)
    const observeCml = async () => (await observing.observe(running(machine), POLICY, never)).cml
    expect(await observeCml()).toBeNull()
    observing.memory.observations.suspectCml('w-1')
    expect(await observeCml()).toMatchObject({ stage: 'TLS' })
  })
})

describe('reading the inputs of a launch', () => {
  it('reports missing inputs', async () => {
    const seen = await observing.observe(aWorker(), POLICY, never)
    expect(seen.launch).toEqual({ template: null, region: regionConfig, image: null, scarce: new Map(), problem: null })
  })

  it('finds the newest image of the stated owner', async () => {
    const model = openSimModel({ seed: 3, clock })
    const template = aTemplate({ ami_name_pattern: 'cml-2.9.1-*' })
    const client: Client = { ...templatesOnly, call: async () => JSON.parse(JSON.stringify(template)) }
    const seen = await observerOn(compute, model, client).observe(aWorker({ aws_region: REGION }), POLICY, never)
    expect(seen.launch).toMatchObject({
      template: { name: 'metal' },
      image: { image_id: expect.stringMatching(/^ami-/), root_device: '/dev/sda1' },
    })
  })
})

describe('reading the license and node definitions of CML', () => {
  const FOUND: CmlProbe = {
    license: { kind: 'unknown', because: textReason('as the last probe found it') },
    nodeDefinitions: ['ios'],
  }
  let fleet: SimulatedFleet
  let worker: Worker
  let survey: CmlProbe | null
  let memory: WorkerMemory
  let isDue: boolean

  const inside = async (more: Partial<Worker> = {}) => {
    const { machines, reads, cml, client, clock: time, logins, access } = fleet
    const probes = {
      latest: () => survey,
      record(_: string, seen: CmlProbe | null) {
        survey = seen
      },
    }
    const config = aConfig()
    const snapshots = regionSnapshots({ machines, clock: time, config })
    const parts = { machines, reads, snapshots, cml, client, clock: time, config, logins, probes, access, memory }
    const { license, nodeDefinitions, isSurveyDue } = await observe(parts, { ...worker, ...more }, POLICY, never)
    isDue = isSurveyDue
    return { license, nodeDefinitions }
  }

  beforeEach(async () => {
    fleet = await simulatedFleet()
    const machine = await fleet.launch()
    await fleet.clock.advance(BOOTED_MS)
    worker = await fleet.workerOn(machine)
    memory = workerMemory(fleet.clock, aConfig())
    survey = FOUND
  })

  it('is left to probes while no decision depends on it', async () => {
    expect(await inside()).toEqual(FOUND)
    survey = null
    expect(await inside()).toEqual({ license: null, nodeDefinitions: null })
  })

  it('happens at once on a refresh request, and replaces the result of a probe', async () => {
    const seen = await inside({ refresh_requested_at: worker.created_at })
    expect(seen).toMatchObject({ license: { registration: 'NOT_REGISTERED' } })
    expect(seen.nodeDefinitions).toContain('alpine')
    expect(survey).toEqual(seen)
  })

  it.each<[string, Partial<Worker>]>([
    ['its license is being changed', { license: { ...aWorker().license, pending_operation: 'register' } }],
    ['it is about to be terminated', { status: 'TERMINATING', desired_status: 'TERMINATED' }],
  ])('happens at once when %s, and drops the result of a probe', async (_, more) => {
    expect(await inside(more)).toMatchObject({ license: { kind: 'seen' }, nodeDefinitions: null })
    expect(survey).toBeNull()
  })

  it('is due again at once when a change of the license dropped the result of a probe', async () => {
    memory.probes.requested(worker.id, fleet.clock.monotonic())
    await inside()
    expect(isDue).toBe(false)
    await inside({ license: { ...worker.license, pending_operation: 'register' } })
    await inside()
    expect(isDue).toBe(true)
  })

  it('does not happen while the worker stops, and drops the result of a probe', async () => {
    const stopping = await inside({ status: 'STOPPING', desired_status: 'STOPPED' })
    expect([stopping, survey]).toEqual([{ license: null, nodeDefinitions: null }, null])
  })
})
