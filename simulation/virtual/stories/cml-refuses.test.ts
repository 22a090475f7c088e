import type { Reason } from '@lcm/domain/reason'
import type { Condition } from '@lcm/domain/worker/worker'
import { describe, expect, it } from 'vitest'
import { MINUTE_MS } from '../world/durations.ts'
import { aStory } from './story-fixture.ts'

const OTHER = { username: 'admin', password: 'Changed-Behind-Our-Back' }
const refusalOf = (conditions: readonly Condition[]) => conditions.find(({ type }) => type === 'CmlAccessRefused')

describe('a CML that refuses LCM', () => {
  it('sets a condition on its worker, which is not paused, until the credentials are right', async () => {
    const log: string[] = []
    const onLog = (level: string, message: string) => void log.push(`${level}: ${message}`)
    const { world, one, operator, manual, done } = await aStory(220, { onLog })
    const { id } = await operator.createAndRun('metal-1')
    const machine = await manual.machineOf(id)
    await world.runFor(10 * MINUTE_MS)
    expect(one.problems()).toEqual([])
    manual.onCml(machine, 'POST password', OTHER)
    await world.runFor(5 * MINUTE_MS)
    const refused = refusalOf((await world.worker(id)).conditions)
    expect(refused).toMatchObject({ status: true, reason: { code: 'cml_login_refused', params: { worker_id: id } } })
    expect(refused?.reason.params.error).toContain('Authentication failed!')
    expect(one.problems()).toMatchObject([
      { code: 'cml_refuses_on_workers', params: { part: 'login', workers: ['metal-1'] } },
    ])
    await world.runFor(150 * MINUTE_MS)
    expect(await world.worker(id)).toMatchObject({ status: 'RUNNING', desired_status: 'RUNNING' })
    const outcomes = (await operator.journal('scaling', `worker:${id}`)).map(
      ({ body }) => 'outcome' in body && body.outcome,
    )
    expect(outcomes[0]).toBe('skipped_cannot_judge')
    const isRefusal = ({ code, params }: Reason) =>
      code === 'cml_login_refused' || (code === 'idle_unknown' && params.telemetry === 'login_refused')
    const refusals = (await operator.decisions(id)).filter(({ because }) => isRefusal(because))
    expect(refusals.map(({ action }) => action).sort()).toEqual(['health_degraded', 'skipped_cannot_judge', 'write'])
    await world.client.call('putWorkerCredentials', { params: { id }, body: OTHER })
    await world.runFor(5_000)
    expect(refusalOf((await world.worker(id)).conditions)).toBeUndefined()
    expect(one.problems()).toEqual([])
    expect(log.filter(line => /CML (no longer )?refuses/.test(line))).toEqual([
      "warn: CML refuses LCM's login",
      'info: CML no longer refuses what LCM needs',
    ])
    await world.until(id, 'STOPPED', 90 * MINUTE_MS)
    await done()
  })

  it('clears the condition within minutes after CML accepts LCM again, also under the next leader', async () => {
    const { world, one, operator, manual, done } = await aStory(221)
    const { id } = await operator.createAndRun('metal-1')
    const machine = await manual.machineOf(id)
    await world.runFor(10 * MINUTE_MS)
    manual.onCml(machine, 'PATCH faults', { refused_paths: ['/telemetry'] })
    await world.runFor(11 * MINUTE_MS)
    const refused = await world.worker(id)
    expect(refusalOf(refused.conditions)).toMatchObject({ reason: { code: 'cml_telemetry_refused' } })
    one.kill()
    world.startWorkerController('two')
    await world.runFor(11 * MINUTE_MS)
    // The next leader neither clears the condition before its first call, nor sets it a second time.
    expect((await world.worker(id)).version).toBe(refused.version)
    manual.onCml(machine, 'DELETE faults')
    await world.runFor(11 * MINUTE_MS)
    expect(refusalOf((await world.worker(id)).conditions)).toBeUndefined()
    await done()
  })

  it('has no condition for telemetry that LCM does not need', async () => {
    const { world, one, operator, manual, done } = await aStory(222)
    const { id } = await operator.createAndRun('metal-1')
    manual.onCml(await manual.machineOf(id), 'PATCH faults', { refused_paths: ['/telemetry'] })
    await world.runFor(11 * MINUTE_MS)
    expect(refusalOf((await world.worker(id)).conditions)).toMatchObject({ reason: { code: 'cml_telemetry_refused' } })
    await operator.set({ idle_detection_enabled: false })
    await world.runFor(11 * MINUTE_MS)
    expect(refusalOf((await world.worker(id)).conditions)).toBeUndefined()
    expect(one.problems()).toEqual([])
    await done()
  })

  it('and collects no telemetry has a condition without an alarm, and is not paused', async () => {
    const { world, one, operator, manual, done } = await aStory(223)
    await operator.set({ idle_timeout_seconds: 900, min_workers: 0 })
    const { id } = await operator.createAndRun('metal-1')
    const machine = await manual.machineOf(id)
    manual.onCml(machine, 'POST telemetry', { opt_in: false })
    await world.runFor(60 * MINUTE_MS)
    const worker = await world.worker(id)
    expect(worker).toMatchObject({ status: 'RUNNING', desired_status: 'RUNNING' })
    expect(refusalOf(worker.conditions)).toMatchObject({ reason: { code: 'cml_telemetry_off' } })
    expect(one.problems()).toEqual([])
    manual.onCml(machine, 'POST telemetry', { opt_in: true })
    await world.runFor(11 * MINUTE_MS)
    expect(refusalOf((await world.worker(id)).conditions)).toBeUndefined()
    await world.until(id, 'STOPPED', 90 * MINUTE_MS)
    await done()
  })
})
