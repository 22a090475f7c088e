import { setMaxListeners } from 'node:events'
import { afterOutage } from '@lcm/cloud-sim/cml/labs/lab-element-states'
import { stopNodes } from '@lcm/cloud-sim/cml/labs/lab-power'
import { DEFAULT_CML_LOGIN } from '@lcm/cloud-sim/cml/server-state'
import { simCmlLabs } from '@lcm/cloud-sim/in-process/cml-labs'
import { heldFrom } from '@lcm/domain/calendar/worker-ledger'
import { toInstant, toMs } from '@lcm/domain/instant'
import { bootReached, withBoot } from '@lcm/domain/worker/boot-stages'
import type { Instance } from '@lcm/domain/worker/ec2-instance'
import { silentLogger, silentMeter } from '@lcm/runtime'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { decisionLog } from '../../kit/decision-log.ts'
import { registeredElection } from '../../kit/registered-election.ts'
import { workerController } from '../controller.ts'
import { leaderOnlyCompute } from '../leader-only-compute.ts'
import {
  aConfig,
  BOOTED_MS,
  never,
  ourTags,
  REGION,
  type SimulatedFleet,
  simulatedFleet,
} from '../testing/simulated-cloud-and-api.ts'

const MINUTE_MS = 60_000
const DETECTED_MS = 30_000
const TOPOLOGY = `lab: { version: 0.3.0, title: two }
nodes:
  - { id: n0, label: R1, node_definition: alpine, x: 0, y: 0, interfaces: [] }
  - { id: n1, label: R2, node_definition: alpine, x: 1, y: 0, interfaces: [] }
links: []
`

let fleet: SimulatedFleet
let machine: Instance
const worker = () => fleet.plane.get('workers', 'w-1')
const runFor = (ms: number) => fleet.clock.advance(ms)
const labs = () => simCmlLabs(fleet.model, fleet.clock)
const login = async () => {
  const { https_endpoint, cml } = await worker()
  return { url: https_endpoint ?? '', certificate_sha256: cml.certificate_sha256, ...DEFAULT_CML_LOGIN }
}

/** A controller with the default intervals. */
function begin(instance: string): { crash(): void } {
  const { client, clock, cml, metrics, plane, compute } = fleet
  const shared = { client, clock, logger: silentLogger }
  const election = registeredElection({
    ...shared,
    election: plane.coordination.election('worker-controller', instance),
    service: 'worker-controller',
  })
  const controller = workerController({
    ...leaderOnlyCompute({ compute, clock, election }),
    ...{ ...shared, metrics, cml, changeKeys: plane.changeKeys, meter: silentMeter, config: aConfig() },
    decisions: decisionLog({ ...shared, instanceId: instance }),
  })
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  void controller.service.run(stop.signal)
  return { crash: () => stop.abort() }
}

/** The milliseconds until the worker has this service status. */
async function until(service_status: string, withinMs = 5 * MINUTE_MS): Promise<number> {
  const startMs = fleet.clock.now()
  while ((await worker()).service_status !== service_status) {
    if (fleet.clock.now() - startMs > withinMs) throw new Error(`not ${service_status}`)
    await runFor(500)
  }
  return fleet.clock.now() - startMs
}

/** One more lab that runs. */
async function runningLab(): Promise<string> {
  const { lab_id } = await labs().import(await login(), { title: 'two', topology: TOPOLOGY }, never)
  await labs().start(await login(), lab_id, never)
  await runFor(10 * MINUTE_MS)
  return lab_id
}

let controller: ReturnType<typeof begin>
beforeEach(async () => {
  fleet = await simulatedFleet({ epoch: null })
  machine = await fleet.launch({ tags: ourTags('w-1') })
  await runFor(BOOTED_MS)
  fleet.setServer(machine, { opt_in: true })
  const conditions = withBoot([], bootReached('READY'), fleet.clock.now())
  const now = toInstant(fleet.clock.now())
  const times = { created_at: now, updated_at: now, entered_status_at: now }
  const reservations = { 'ls-1': aReservation() }
  await fleet.plane.put('workers', await fleet.workerOn(machine, { conditions, reservations, ...times }))
  controller = begin('one')
  await runFor(5 * MINUTE_MS)
  expect(await worker()).toMatchObject({ service_status: 'AVAILABLE', cml: { restarted_at: null, up_until: null } })
})

describe('a CML that stops answering', () => {
  it.each(Array.from({ length: 15 }, (_, second) => second))(
    'is known within 30 s, and its return, at second %s',
    async second => {
      await runFor(second * 1_000)
      fleet.setServer(machine, { faults: { network: 'cut' } })
      const downMs = fleet.clock.now()
      expect(await until('UNAVAILABLE')).toBeLessThanOrEqual(DETECTED_MS)
      const { up_until } = (await worker()).cml
      expect(toMs(up_until ?? '')).toBeGreaterThanOrEqual(downMs)
      await runFor(20 * MINUTE_MS)
      fleet.setServer(machine, { faults: { network: 'reached' } })
      expect(await until('AVAILABLE')).toBeLessThanOrEqual(DETECTED_MS)
      expect(toMs((await worker()).cml.restarted_at ?? '')).toBeGreaterThan(toMs(up_until ?? ''))
    },
  )

  it('for a moment stays AVAILABLE', async () => {
    const { cml } = fleet
    let lost = 0
    const probe: typeof cml.probe = async (...asked) => {
      const seen = await cml.probe(...asked)
      lost += 1
      // Every other answer is lost.
      return lost % 2 === 0 ? seen : { ...seen, stage: 'TLS', detail: 'no answer within 3000 ms' }
    }
    controller.crash()
    await runFor(MINUTE_MS)
    fleet = { ...fleet, cml: { ...cml, probe } }
    begin('two')
    await runFor(10 * MINUTE_MS)
    expect(lost).toBeGreaterThan(20)
    expect(await worker()).toMatchObject({ service_status: 'AVAILABLE', cml: { up_until: null } })
  })
})

describe('a restart of the machine', () => {
  const restarted = async () => (await worker()).cml.restarted_at

  it('by a person in EC2 is recorded with the time until which it was up', async () => {
    const downMs = fleet.clock.now()
    fleet.model.ec2.stopInstances(REGION, { ids: [machine.instance_id], force: true })
    await until('UNAVAILABLE')
    await until('AVAILABLE', 40 * MINUTE_MS)
    const { cml } = await worker()
    expect(toMs(cml.up_until ?? '') - downMs).toBeLessThanOrEqual(DETECTED_MS)
    expect(fleet.clock.now() - toMs(cml.restarted_at ?? '')).toBeLessThanOrEqual(500)
  })

  it.each(['RUNNING', 'DRAINING'] as const)('that no check of a %s worker saw shows by its labs', async status => {
    if (status === 'DRAINING')
      await fleet.plane.others().call('drainWorker', { params: { id: 'w-1' }, body: { timeout_seconds: 86_400 } })
    await runningLab()
    expect(await worker()).toMatchObject({ status })
    controller.crash()
    await runFor(MINUTE_MS)
    const startMs = fleet.clock.now()
    fleet.model.ec2.rebootInstances(REGION, { ids: [machine.instance_id] })
    await runFor(20 * MINUTE_MS)
    begin('two')
    await runFor(2 * MINUTE_MS)
    expect(toMs((await restarted()) ?? '')).toBeGreaterThan(startMs)
  })

  it('follows another one within a minute', async () => {
    const lab = await runningLab()
    for (let n = 0; n < 2; n += 1) {
      const before = await restarted()
      // Too short for any check: its labs are down at once, and its CML answers.
      fleet.model.cml.act(machine.instance_id, context => ({
        status: 204,
        change: { labs: context.labs.map(each => afterOutage(each, fleet.clock.now())) },
      }))
      await runFor(70_000)
      expect([n, await restarted()]).not.toEqual([n, before])
      await labs().start(await login(), lab, never)
      await runFor(30_000)
    }
  })

  it('is not assumed when a person stops their lab, as a whole or node by node', async () => {
    const first = await runningLab()
    const second = await runningLab()
    await labs().stop(await login(), first, never)
    await runFor(5 * MINUTE_MS)
    for (const { node_id } of await labs().nodes(await login(), second, never)) {
      stopNode(second, node_id)
      await runFor(10_000)
    }
    await runFor(5 * MINUTE_MS)
    expect(await restarted()).toBeNull()
  })

  it('while no controller led shows by the launch time of EC2', async () => {
    controller.crash()
    await runFor(MINUTE_MS)
    const ids = [machine.instance_id]
    fleet.model.ec2.stopInstances(REGION, { ids, force: true })
    await runFor(10 * MINUTE_MS)
    fleet.model.ec2.startInstances(REGION, { ids })
    const launchedMs = fleet.clock.now()
    await runFor(BOOTED_MS)
    begin('two')
    await runFor(5 * MINUTE_MS)
    expect(await worker()).toMatchObject({ service_status: 'AVAILABLE' })
    expect(toMs((await restarted()) ?? '')).toBeGreaterThan(launchedMs)
  })
})

/** As a person does on the page of the node. */
function stopNode(labId: string, nodeId: string): void {
  fleet.model.cml.act(machine.instance_id, context => {
    const lab = context.labs.find(({ id }) => id === labId)
    return { status: 204, change: lab ? { labs: stopNodes(context, lab, ({ id }) => id === nodeId).labs } : {} }
  })
}
const aReservation = () => ({ cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 2, ...heldFrom(aWorker().created_at) })
