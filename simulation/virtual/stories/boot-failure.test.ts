import type { Worker } from '@lcm/domain/worker/worker'
import { describe, expect, it } from 'vitest'
import { METAL } from '../world/control-plane.ts'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aStory, type Story } from './story-fixture.ts'

const atOf = (worker: Worker, to: Worker['status']) =>
  worker.state_history.filter(change => change.to === to).map(change => new Date(change.at).getTime())

/** Minutes between each failure and the retry after it. */
function retryMinutes(worker: Worker): number[] {
  const failed = atOf(worker, 'FAILED')
  const retried = atOf(worker, 'STARTING').slice(1)
  return retried.map((at, index) => Math.round((at - (failed[index] ?? 0)) / MINUTE_MS))
}

async function scaledUp({ world }: Story): Promise<string> {
  const term = { params: { service: 'resource-scheduler' }, body: { epoch: 1, instance_id: 'rs' } }
  await world.scheduler.call('registerTerm', term)
  const body = { key: 'k', template_name: 'metal', aws_region: 'us-east-1', count: 1, session_ids: ['ls-1'] }
  const { workers } = await world.scheduler.call('scaleUp', { body, epoch: 1 })
  return workers[0]?.id ?? ''
}

describe('a boot that never becomes ready', () => {
  it('is retried after 5, 15 and 45 minutes; then its machine is stopped, and a manual retry starts over', async () => {
    const { world, operator, manual, done } = await aStory(401)
    world.access.isCmlCut = true
    const id = await operator.create('metal-1')
    await world.until(id, 'FAILED')
    const machine = await manual.machineOf(id)
    await world.untilTrue('given up', () => manual.stateOf(machine) === 'stopped', 5 * HOUR_MS)
    await world.runFor(MINUTE_MS)
    const given = await world.worker(id)
    expect(given).toMatchObject({ status: 'FAILED', ec2_instance_id: machine })
    expect(retryMinutes(given)).toEqual([5, 15, 45])
    expect(given.conditions).toContainEqual(expect.objectContaining({ type: 'InstanceStopped', status: true }))
    const reason = expect.objectContaining({ code: 'status_timeout' })
    expect(given.conditions).toContainEqual(expect.objectContaining({ type: 'Failed', reason }))
    const { version } = given
    await world.runFor(2 * HOUR_MS)
    expect((await world.worker(id)).version).toBe(version)
    world.access.isCmlCut = false
    await operator.retry(id)
    expect(await world.until(id, 'RUNNING')).toMatchObject({ ec2_instance_id: machine, failures: 0 })
    await done()
  })

  it('ends a worker that scale-up created and that never ran', async () => {
    const story = await aStory(402)
    const { world, done } = story
    world.access.isCmlCut = true
    const id = await scaledUp(story)
    const ended = await world.until(id, 'TERMINATED', 5 * HOUR_MS)
    expect(ended).toMatchObject({ origin: 'SCALE_UP', desired_by: 'clean-up' })
    expect(world.liveMachines()).toBe(0)
    await done()
  })

  it('can be terminated at any time', async () => {
    const { world, operator, done } = await aStory(403)
    world.access.isCmlCut = true
    const id = await operator.create('metal-1')
    await world.until(id, 'FAILED')
    await operator.terminate(id)
    await world.until(id, 'TERMINATED', 20 * MINUTE_MS)
    await done()
  })
})

describe('an impossible launch', () => {
  it('waits for its template, fails with a reason, and continues when the template is fixed', async () => {
    const { world, operator, done } = await aStory(404, { templates: [{ ...METAL, ami_name_pattern: 'no-such-*' }] })
    const id = await operator.create('metal-1')
    await world.runFor(5 * MINUTE_MS)
    const waiting = await world.worker(id)
    expect(waiting.status).toBe('PENDING')
    expect(waiting.conditions).toContainEqual(expect.objectContaining({ type: 'LaunchBlocked', status: true }))
    await world.until(id, 'FAILED', 20 * MINUTE_MS)
    const { name, ...spec } = METAL
    const { version } = await world.client.call('getTemplate', { params: { name } })
    await world.client.call('putTemplate', { params: { name }, body: { ...spec }, ifMatch: version })
    await world.until(id, 'RUNNING', HOUR_MS)
    await done()
  })
})
