import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { CloudError } from '@lcm/cloud/errors'
import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
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
  const { status: from, state_history } = await rig.worker()
  const moved = from === status ? [] : [{ from, to: status, at, because: reason('not_given') }]
  const history = [...state_history, ...moved]
  await rig.changeWorker({ status, service_status, entered_status_at: at, state_history: history })
}

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
  rig = await labRig()
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
  expect((await session()).conditions).toMatchObject([
    { type: 'LabStopped', status: true, reason: { code: 'lab_stopped_by_restart' } },
  ])
  await rig.clock.advance(2 * MINUTE_MS)
  expect(await rig.labsThere()).toMatchObject([{ lab_id: before?.lab_id, state: 'STARTED' }])
  expect(await session()).toMatchObject({ status: 'RUNNING', last_error: null, pipeline: { attempt: 2 } })
  expect((await session()).conditions).toMatchObject([{ type: 'LabStopped', status: false }])
  const host = new URL(rig.login().url).hostname
  expect((await session()).access.map(line => line.host)).toEqual((await session()).access.map(() => host))
})

it("a lab that can't be started again shows the error, with a limited number of attempts", async () => {
  isRefused = true
  await machineRestarts()
  await rig.clock.advance(3 * MINUTE_MS)
  expect(await session()).toMatchObject({ status: 'RUNNING', last_error: null, pipeline: { attempt: 2 } })
  const reason = { code: 'lab_restart_failed', params: { step: 'lab_start' } }
  expect((await session()).conditions).toMatchObject([{ type: 'LabStopped', status: true, reason }])
  expect((await session()).conditions[0]?.reason.params.error).toContain('no license for 2 nodes')
  const { version } = await session()
  await rig.clock.advance(5 * MINUTE_MS)
  expect([(await session()).version, starts]).toEqual([version, 4])
})

it('a lab that a user stopped before the restart of its machine stays stopped', async () => {
  const [lab] = await rig.labsThere()
  await rig.labs.stop(rig.login(), lab?.lab_id ?? '', never)
  await rig.clock.advance(5 * MINUTE_MS)
  await machineRestarts()
  await rig.clock.advance(3 * MINUTE_MS)
  expect(await rig.labsThere()).toMatchObject([{ state: 'STOPPED' }])
  expect((await session()).conditions).toMatchObject([
    { type: 'LabStopped', status: true, reason: { code: 'lab_stopped_on_cml' } },
  ])
  expect(starts).toBe(1)
})

it('a lab whose start is refused once is never reported as stopped by a user', async () => {
  isRefused = true
  await machineRestarts()
  const reasons = new Set<string | undefined>()
  for (let second = 0; second < 60; second += 1) {
    await rig.clock.advance(1_000)
    reasons.add((await session()).conditions[0]?.reason.code)
  }
  expect([...reasons]).toEqual(['lab_stopped_by_restart', 'lab_restart_failed'])
})

it('a lab that could not be started again is retried after the next restart', async () => {
  isRefused = true
  await machineRestarts()
  await rig.clock.advance(5 * MINUTE_MS)
  expect((await session()).conditions).toMatchObject([
    { status: true, reason: { code: 'lab_restart_failed', params: { step: 'lab_start' } } },
  ])
  isRefused = false
  await machineRestarts()
  await rig.clock.advance(2 * MINUTE_MS)
  expect(await rig.labsThere()).toMatchObject([{ state: 'STARTED' }])
  expect((await session()).conditions).toMatchObject([
    { status: false, reason: { code: 'lab_running', params: { state: 'STARTED' } } },
  ])
})

it('a lab that a user stopped, started and stopped again after a restart stays stopped', async () => {
  const [lab] = await rig.labsThere()
  const id = lab?.lab_id ?? ''
  await rig.labs.stop(rig.login(), id, never)
  await rig.clock.advance(5 * MINUTE_MS)
  await machineRestarts()
  await rig.labs.start(rig.login(), id, never)
  await rig.clock.advance(2 * MINUTE_MS)
  expect((await session()).conditions).toMatchObject([{ status: false }])
  await rig.labs.stop(rig.login(), id, never)
  await rig.clock.advance(2 * MINUTE_MS)
  expect((await session()).conditions).toMatchObject([{ status: true, reason: { code: 'lab_stopped_on_cml' } }])
  expect(starts).toBe(1)
})

it('a lab whose machine is restarted again before its nodes are up is started again', async () => {
  await machineRestarts()
  while ((await session()).pipeline?.steps.converged?.status !== 'running') await rig.clock.advance(100)
  await machineRestarts()
  await rig.clock.advance(2 * MINUTE_MS)
  expect(await rig.labsThere()).toMatchObject([{ state: 'STARTED' }])
  expect(await session()).toMatchObject({ status: 'RUNNING', conditions: [{ type: 'LabStopped', status: false }] })
})

it('a session whose machine is restarted while its lab comes up gets its lab without a failed attempt', async () => {
  await rig.book('ls-2')
  const other = () => rig.session('ls-2')
  while ((await other()).pipeline?.steps.converged?.status !== 'running') await rig.clock.advance(100)
  await machineRestarts()
  await rig.clock.advance(2 * MINUTE_MS)
  expect(await other()).toMatchObject({ status: 'RUNNING', last_error: null })
})
