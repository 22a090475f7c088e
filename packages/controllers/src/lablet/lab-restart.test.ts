import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import { toInstant } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import { beforeEach, expect, it } from 'vitest'
import { aController } from './testing/a-controller.ts'
import { type LabRig, labRig, MINUTE_MS, never } from './testing/lab-rig.ts'

const REGION = 'us-east-1'
let rig: LabRig
let isRefused = false
let starts = 0
const session = () => rig.session('ls-1')

/** Writes of the worker-controller. */
async function becomes(status: Worker['status'], service_status: Worker['service_status']): Promise<void> {
  const at = toInstant(rig.clock.now())
  const { cml, service_status: before } = await rig.worker()
  const isBack = service_status === 'AVAILABLE' && before !== 'AVAILABLE'
  const isAway = service_status !== 'AVAILABLE' && before === 'AVAILABLE'
  const times = { ...(isBack ? { restarted_at: at } : {}), ...(isAway ? { up_until: at } : {}) }
  await rig.changeWorker({ status, service_status, entered_status_at: at, cml: { ...cml, ...times } })
}

const condition = async (type: string) => (await session()).conditions.find(each => each.type === type)
const lab = async () => (await rig.labsThere())[0]
const labId = async () => (await lab())?.lab_id ?? ''

/** A user stops the machine, and LCM starts it again. */
async function machineRestarts(): Promise<void> {
  const ids = [rig.instanceId]
  rig.model.ec2.stopInstances(REGION, { ids, force: true })
  while (rig.model.machine(rig.instanceId)?.state !== 'stopped') await rig.clock.advance(1_000)
  await becomes('STOPPED', 'UNAVAILABLE')
  rig.model.ec2.startInstances(REGION, { ids })
  await becomes('STARTING', 'STARTING')
  while (rig.model.cml.stageOf(rig.instanceId) !== 'READY') await rig.clock.advance(1_000)
  const { url } = rig.login()
  await rig.changeWorker({ https_endpoint: url, public_ip: new URL(url).hostname })
  await becomes('RUNNING', 'AVAILABLE')
}

beforeEach(async () => {
  rig = await labRig({ timeslotMs: 60 * MINUTE_MS })
  isRefused = false
  starts = 0
  const refusal = new CloudError('invalid', { code: '400', action: 'start', message: 'no license for 2 nodes' })
  const start: CmlLabs['start'] = (...asked) => {
    starts += 1
    return isRefused ? Promise.reject(refusal) : rig.labs.start(...asked)
  }
  aController(rig, 'one', { labs: { ...rig.labs, start } })
  await rig.book('ls-1')
  await rig.clock.advance(2 * MINUTE_MS)
  expect((await session()).status).toBe('RUNNING')
})

it('a lab that stopped with its machine is started again, with access at the new address', async () => {
  const [before] = await rig.labsThere()
  await machineRestarts()
  expect(await rig.labsThere()).toMatchObject([{ lab_id: before?.lab_id, state: 'STOPPED' }])
  await rig.clock.advance(10_000)
  expect(await condition('LabStopped')).toMatchObject({ status: true, reason: { code: 'lab_stopped_by_restart' } })
  await rig.clock.advance(2 * MINUTE_MS)
  expect(await rig.labsThere()).toMatchObject([{ lab_id: before?.lab_id, state: 'STARTED' }])
  expect(await session()).toMatchObject({ status: 'RUNNING', last_error: null, pipeline: { attempt: 2 } })
  expect(await condition('LabStopped')).toMatchObject({ status: false })
  expect(await session()).toMatchObject({ health: { status: 'OK' } })
  const host = new URL(rig.login().url).hostname
  expect((await session()).access.map(line => line.host)).toEqual((await session()).access.map(() => host))
})

it("a lab that can't be started again shows the error, and is retried less and less often", async () => {
  isRefused = true
  await machineRestarts()
  await rig.clock.advance(3 * MINUTE_MS)
  expect(await session()).toMatchObject({ status: 'RUNNING', last_error: null })
  const reason = { code: 'lab_restart_failed', params: { step: 'lab_start' } }
  expect(await condition('LabStopped')).toMatchObject({ status: true, reason })
  expect((await condition('LabStopped'))?.reason.params.error).toContain('no license for 2 nodes')
  const before = starts
  await rig.clock.advance(15 * MINUTE_MS)
  expect(starts - before).toBeGreaterThan(0)
  expect(starts - before).toBeLessThan(20)
  isRefused = false
  await rig.clock.advance(20 * MINUTE_MS)
  expect(await session()).toMatchObject({ status: 'RUNNING', health: { status: 'OK' } })
  expect(await lab()).toMatchObject({ state: 'STARTED' })
})

it('a lab that a user stopped before the restart of its machine stays stopped', async () => {
  await rig.labs.stop(rig.login(), await labId(), never)
  await rig.clock.advance(5 * MINUTE_MS)
  await machineRestarts()
  await rig.clock.advance(3 * MINUTE_MS)
  expect(await rig.labsThere()).toMatchObject([{ state: 'STOPPED' }])
  expect(await condition('LabStopped')).toMatchObject({ status: true, reason: { code: 'lab_stopped_on_cml' } })
  expect(starts).toBe(1)
})

it('a lab whose start is refused once is never reported as stopped by a user', async () => {
  isRefused = true
  await machineRestarts()
  const reasons = new Set<string | undefined>()
  for (let second = 0; second < 60; second += 1) {
    await rig.clock.advance(1_000)
    reasons.add((await condition('LabStopped'))?.reason.code)
  }
  expect([...reasons]).toEqual(['lab_stopped_by_restart', 'lab_restart_failed'])
})

it('a lab that could not be started again is retried after the next restart', async () => {
  isRefused = true
  await machineRestarts()
  await rig.clock.advance(5 * MINUTE_MS)
  const failed = { code: 'lab_restart_failed', params: { step: 'lab_start' } }
  expect(await condition('LabStopped')).toMatchObject({ status: true, reason: failed })
  isRefused = false
  await machineRestarts()
  await rig.clock.advance(2 * MINUTE_MS)
  expect(await rig.labsThere()).toMatchObject([{ state: 'STARTED' }])
  const running = { code: 'lab_running', params: { state: 'STARTED' } }
  expect(await condition('LabStopped')).toMatchObject({ status: false, reason: running })
})

it('a lab that a user stopped, started and stopped again after a restart stays stopped', async () => {
  const id = await labId()
  await rig.labs.stop(rig.login(), id, never)
  await rig.clock.advance(5 * MINUTE_MS)
  await machineRestarts()
  await rig.labs.start(rig.login(), id, never)
  await rig.clock.advance(2 * MINUTE_MS)
  expect(await condition('LabStopped')).toMatchObject({ status: false })
  await rig.labs.stop(rig.login(), id, never)
  await rig.clock.advance(2 * MINUTE_MS)
  expect(await condition('LabStopped')).toMatchObject({ status: true, reason: { code: 'lab_stopped_on_cml' } })
  expect(starts).toBe(1)
})

it('a lab whose machine is restarted again before its nodes are up is started again', async () => {
  await machineRestarts()
  while ((await session()).pipeline?.steps.converged?.status !== 'running') await rig.clock.advance(100)
  await machineRestarts()
  await rig.clock.advance(2 * MINUTE_MS)
  expect(await rig.labsThere()).toMatchObject([{ state: 'STARTED' }])
  expect(await session()).toMatchObject({ status: 'RUNNING', health: { status: 'OK' } })
})

it('a session whose machine is restarted while its lab comes up gets its lab without a failed attempt', async () => {
  await rig.book('ls-2')
  const other = () => rig.session('ls-2')
  while ((await other()).pipeline?.steps.converged?.status !== 'running') await rig.clock.advance(100)
  await machineRestarts()
  await rig.clock.advance(2 * MINUTE_MS)
  expect(await other()).toMatchObject({ status: 'RUNNING', last_error: null })
})

/** Its CML does not answer, and its worker is known to be silent. */
async function isSilentFor(ms: number): Promise<void> {
  rig.faults({ network: 'cut' })
  await becomes('RUNNING', 'UNAVAILABLE')
  await rig.clock.advance(ms)
}
async function answersAgain(): Promise<void> {
  rig.faults({ network: 'reached' })
  await becomes('RUNNING', 'AVAILABLE')
  await rig.clock.advance(5_000)
}

it('5.2: a session whose CML is silent for 20 minutes shows it, goes on, and keeps its access', async () => {
  const { access, pipeline } = await session()
  await isSilentFor(2_000)
  expect(await session()).toMatchObject({
    ...{ status: 'RUNNING', access },
    health: { status: 'DEGRADED', reason: { code: 'lab_state_unknown' } },
  })
  const { version } = await session()
  await rig.clock.advance(20 * MINUTE_MS)
  expect(await session()).toMatchObject({ status: 'RUNNING', version, access })
  await answersAgain()
  expect(await session()).toMatchObject({ status: 'RUNNING', health: { status: 'OK' }, access, pipeline })
  expect(starts).toBe(1)
})

it('a lab that its owner stops after a silence that it survived stays stopped', async () => {
  await isSilentFor(5 * MINUTE_MS)
  await answersAgain()
  await rig.clock.advance(MINUTE_MS)
  await rig.labs.stop(rig.login(), await labId(), never)
  await rig.clock.advance(10 * MINUTE_MS)
  expect(await condition('LabStopped')).toMatchObject({ status: true, reason: { code: 'lab_stopped_on_cml' } })
  expect([await lab(), starts]).toMatchObject([{ state: 'STOPPED' }, 1])
})

it('5.1: a lab that stopped in a reboot that the worker-controller found later is started again', async () => {
  const up_until = toInstant(rig.clock.now())
  rig.model.ec2.rebootInstances(REGION, { ids: [rig.instanceId] })
  while (rig.model.cml.stageOf(rig.instanceId) !== 'READY') await rig.clock.advance(1_000)
  await rig.clock.advance(MINUTE_MS)
  expect(await condition('LabStopped')).toMatchObject({ status: true, reason: { code: 'lab_stopped_on_cml' } })
  const { cml } = await rig.worker()
  await rig.changeWorker({ cml: { ...cml, up_until, restarted_at: toInstant(rig.clock.now()) } })
  await rig.clock.advance(2 * MINUTE_MS)
  expect(await session()).toMatchObject({ status: 'RUNNING', health: { status: 'OK' } })
  expect([await lab(), starts]).toMatchObject([{ state: 'STARTED' }, 2])
})

it('a lab whose machine restarts while no lablet-controller leads is started again by the next leader', async () => {
  rig.coordination.faults.crash('one')
  await machineRestarts()
  await rig.clock.advance(MINUTE_MS)
  await machineRestarts()
  aController(rig, 'two')
  await rig.clock.advance(3 * MINUTE_MS)
  expect(await session()).toMatchObject({ status: 'RUNNING', health: { status: 'OK' } })
  expect(await lab()).toMatchObject({ state: 'STARTED' })
})

it('a session whose worker is TERMINATED waits for the scheduler, and ends with its slot', async () => {
  await becomes('TERMINATED', 'UNAVAILABLE')
  await rig.clock.advance(20 * MINUTE_MS)
  expect(await session()).toMatchObject({ status: 'RUNNING', health: { status: 'DOWN', reason: { code: 'lab_down' } } })
  await rig.clock.advance(60 * MINUTE_MS)
  expect(['ARCHIVED', 'TERMINATED']).toContain((await session()).status)
})

it('a lab that came up without nodes after a restart is incomplete until they have booted, without a request', async () => {
  rig.faults({ boot_time_factor: 200 })
  const slot = { ...(await session()).timeslot, end: toInstant(rig.clock.now() + 240 * MINUTE_MS) }
  await rig.change('ls-1', { timeslot: slot })
  await machineRestarts()
  while ((await session()).pipeline?.steps.converged?.status !== 'failed') await rig.clock.advance(MINUTE_MS)
  await rig.clock.advance(MINUTE_MS)
  const error = 'after 30 min: nodes have not booted: R1 (STARTED), R2 (STARTED)'
  const health = { status: 'DEGRADED', reason: { code: 'lab_incomplete', params: { error } } }
  expect(await session()).toMatchObject({ status: 'RUNNING', health })
  const { version } = await session()
  await rig.clock.advance(10 * MINUTE_MS)
  expect((await session()).version).toBeLessThan(version + 5)
  await rig.clock.advance(50 * MINUTE_MS)
  const up = { status: 'RUNNING', health: { status: 'OK' }, pipeline: { attempt: 2 } }
  expect(await session()).toMatchObject(up)
  expect([(await lab())?.state, starts]).toEqual(['STARTED', 2])
  await rig.clock.advance(10 * MINUTE_MS)
  expect(await session()).toMatchObject(up)
  await rig.labs.stop(rig.login(), await labId(), never)
  await rig.clock.advance(2 * MINUTE_MS)
  expect(await session()).toMatchObject({ health: { status: 'DEGRADED', reason: { code: 'lab_stopped_on_cml' } } })
})

it('restarts of the machine while a lab comes up are no failed attempts', async () => {
  rig.faults({ boot_time_factor: 20 })
  await rig.book('ls-2')
  const other = () => rig.session('ls-2')
  for (let n = 0; n < 4; n += 1) {
    while ((await other()).pipeline?.steps.converged?.status !== 'running') await rig.clock.advance(100)
    await becomes('RUNNING', 'UNAVAILABLE')
    await rig.clock.advance(1_000)
    await becomes('RUNNING', 'AVAILABLE')
    await rig.clock.advance(1_000)
  }
  expect(await other()).toMatchObject({ status: 'INSTANTIATING', pipeline: { attempt: 1 } })
})
