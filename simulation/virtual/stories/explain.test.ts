import { nextOfWorker, workerNextText } from '@lcm/domain/worker/worker-next'
import { expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aStory, type Story } from './a-story.ts'

/** What `lcm why worker` says of it now, in minutes. */
async function whyOf({ world }: Story, id: string): Promise<string> {
  const { client, time } = world
  const worker = await world.worker(id)
  const { items } = await client.call('getWorkerDecisions', { params: { id }, query: { limit: 50 } })
  const nowMs = time.clock.now()
  // No heartbeats are sent here, so nothing is known of the controller.
  const next = nextOfWorker({ worker, decisions: items, plan: null, controller: null, nowMs })
  return workerNextText({ ...next, due_at: null }, { nowMs, duration: ms => `${Math.round(ms / MINUTE_MS)} min` })
}

it('why names what blocks a stop: an outage of EC2, then its refusal', async () => {
  const story = await aStory(911)
  const { world, ask, hand, done } = story
  const { id } = await ask.createAndRun('metal-1')
  const machine = await hand.machineOf(id)
  expect(await whyOf(story, id)).toBe('nothing to do: RUNNING, as wanted')
  world.cloud.faults.patch({ server_error_rate: 1 })
  await ask.stop(id)
  await world.runFor(10 * MINUTE_MS)
  expect(await whyOf(story, id)).toMatch(
    /^stop its instance; blocked for 10 min by Ec2Unreachable: EC2 in us-east-1 has not/,
  )
  hand.keepRunning(machine, true)
  world.cloud.faults.patch({ server_error_rate: 0 })
  await world.until(id, 'STOPPING')
  await world.runFor(HOUR_MS)
  expect(await whyOf(story, id)).toMatch(
    /^stop its instance; blocked for 60 min by StopBlocked: EC2 refuses to stop i-/,
  )
  hand.keepRunning(machine, false)
  await world.until(id, 'STOPPED', 10 * MINUTE_MS)
  await world.runFor(MINUTE_MS)
  expect(await whyOf(story, id)).toBe('nothing to do: STOPPED, as wanted')
  await done()
})

it('why names what blocks a start, and a worker whose instance is lost', async () => {
  const story = await aStory(912)
  const { world, ask, hand, done } = story
  const { id, availability_zone, instance_type } = await ask.createAndRun('metal-1')
  await ask.stop(id)
  await world.until(id, 'STOPPED')
  hand.setRoom(availability_zone ?? '', instance_type ?? '', 0)
  await ask.start(id)
  await world.runFor(30 * MINUTE_MS)
  expect(await whyOf(story, id)).toMatch(
    /^finish its boot; blocked for 30 min by LaunchBlocked: no room to start m5zn.metal/,
  )
  hand.terminate(await hand.machineOf(id))
  await world.until(id, 'TERMINATED', 20 * MINUTE_MS)
  expect(await whyOf(story, id)).toMatch(
    /^it can't be RUNNING again: its instance is gone; blocked for \d+ min by InstanceLost/,
  )
  await done()
})
