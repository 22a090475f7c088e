import { toMs } from '@lcm/domain/instant'
import { nextOfWorker } from '@lcm/domain/worker/worker-next-step'
import { expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aStory, type Story } from './story-fixture.ts'

/** What `lcm why worker` explains: the next step, what blocks it, for how many minutes, and the reason of that condition. */
async function whyOf({ world }: Story, id: string): Promise<object> {
  const { client, time } = world
  const worker = await world.worker(id)
  const { items } = await client.call('getWorkerDecisions', { params: { id }, query: { limit: 50 } })
  const nowMs = time.clock.now()
  // No heartbeats are sent here, so the controller is unknown.
  const { next, blocked_by } = nextOfWorker({ worker, decisions: items, plan: null, controller: null, nowMs })
  if (blocked_by === null) return { next }
  const { kind, code, since } = blocked_by
  const { reason } = worker.conditions.find(({ type }) => type === code) ?? { reason: null }
  return { next, kind, code, minutes: Math.round((nowMs - toMs(since)) / MINUTE_MS), reason }
}

it('why names what blocks a stop: an outage of EC2, then its refusal', async () => {
  const story = await aStory(911)
  const { world, operator, manual, done } = story
  const { id } = await operator.createAndRun('metal-1')
  const machine = await manual.machineOf(id)
  expect(await whyOf(story, id)).toEqual({ next: 'idle' })
  world.cloud.faults.patch({ server_error_rate: 1 })
  await operator.stop(id)
  await world.runFor(10 * MINUTE_MS)
  expect(await whyOf(story, id)).toMatchObject({
    next: 'stop',
    kind: 'block',
    code: 'Ec2Unreachable',
    minutes: 10,
    reason: { code: 'ec2_not_responding', params: { service: 'EC2 in us-east-1' } },
  })
  manual.keepRunning(machine, true)
  world.cloud.faults.patch({ server_error_rate: 0 })
  await world.until(id, 'STOPPING')
  await world.runFor(HOUR_MS)
  expect(await whyOf(story, id)).toMatchObject({
    next: 'stop',
    kind: 'block',
    code: 'StopBlocked',
    minutes: 60,
    reason: { code: 'ec2_refuses', params: { action: 'stop', instance_id: machine } },
  })
  manual.keepRunning(machine, false)
  await world.until(id, 'STOPPED', 10 * MINUTE_MS)
  await world.runFor(MINUTE_MS)
  expect(await whyOf(story, id)).toEqual({ next: 'idle' })
  await done()
})

it('why names what blocks a start, and a worker whose instance is lost', async () => {
  const story = await aStory(912)
  const { world, operator, manual, done } = story
  const { id, availability_zone, instance_type } = await operator.createAndRun('metal-1')
  await operator.stop(id)
  await world.until(id, 'STOPPED')
  manual.setCapacity(availability_zone ?? '', instance_type ?? '', 0)
  await operator.start(id)
  await world.runFor(30 * MINUTE_MS)
  expect(await whyOf(story, id)).toMatchObject({
    next: 'boot',
    kind: 'block',
    code: 'LaunchBlocked',
    minutes: 30,
    reason: { code: 'ec2_no_capacity', params: { action: 'start', instance_types: ['m5zn.metal'] } },
  })
  manual.terminate(await manual.machineOf(id))
  await world.until(id, 'TERMINATED', 20 * MINUTE_MS)
  expect(await whyOf(story, id)).toMatchObject({ next: 'lost', kind: 'block', code: 'InstanceLost' })
  await done()
})
