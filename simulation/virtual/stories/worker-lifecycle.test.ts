import { describe, expect, it } from 'vitest'
import { openWorld, type World } from '../world/world.ts'

async function createAndRun(world: World): Promise<string> {
  const { id } = await world.client.call('createWorker', { body: { template_name: 'metal', name: 'metal-1' } })
  await world.until(id, 'RUNNING')
  return id
}

const want = (world: World, verb: 'startWorker' | 'stopWorker' | 'terminateWorker', id: string) =>
  world.client.call(verb, { params: { id }, body: {} })

describe('one worker, from POST to RUNNING and back', () => {
  it('passes through every status, on one machine', async () => {
    const world = await openWorld(1)
    world.startWorkerController('one')
    const id = await createAndRun(world)
    const running = await world.worker(id)
    expect(running.state_history.map(change => change.to)).toEqual(['PENDING', 'PROVISIONING', 'STARTING', 'RUNNING'])
    expect(running).toMatchObject({ service_status: 'AVAILABLE', cml: { version: '2.9.1+build.7' } })
    expect(running.conditions.every(condition => condition.status)).toBe(true)
    await want(world, 'stopWorker', id)
    const stopped = await world.until(id, 'STOPPED')
    expect(stopped).toMatchObject({ public_ip: null, https_endpoint: null, service_status: 'UNAVAILABLE' })
    await want(world, 'startWorker', id)
    const again = await world.until(id, 'RUNNING')
    expect(again.ec2_instance_id).toBe(running.ec2_instance_id)
    expect(again.https_endpoint).not.toBe(running.https_endpoint)
    await want(world, 'terminateWorker', id)
    await world.until(id, 'TERMINATED')
    expect(world.liveMachines()).toBe(0)
    await world.close()
  })

  it('makes each transition once, also when the cloud is faster than its listings', async () => {
    const world = await openWorld(3, { speed: 60 })
    world.startWorkerController('one')
    const id = await createAndRun(world)
    await want(world, 'stopWorker', id)
    await world.until(id, 'STOPPED')
    await want(world, 'startWorker', id)
    await world.until(id, 'RUNNING')
    await world.time.runFor(40 * 60_000)
    const { state_history: history } = await world.worker(id)
    const way = ['PENDING', 'PROVISIONING', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED', 'STARTING', 'RUNNING']
    expect(history.map(change => change.to)).toEqual(way)
    await world.close()
  })

  it('is the same run for the same seed and a different one for another', async () => {
    const hashOf = async (seed: number) => {
      const world = await openWorld(seed)
      world.startWorkerController('one')
      await createAndRun(world)
      await world.close()
      return world.time.traceHash()
    }
    const first = await hashOf(42)
    expect(await hashOf(42)).toBe(first)
    expect(await hashOf(43)).not.toBe(first)
  })

  it('writes nothing once it has settled', async () => {
    const world = await openWorld(5)
    await world.client.call('patchSettings', { body: { idle_detection_enabled: false } })
    world.startWorkerController('one')
    const id = await createAndRun(world)
    // Its CML may reboot once more after it was ready.
    await world.runFor(10 * 60_000)
    const { version } = await world.worker(id)
    const writes = world.invariants.accepted.length
    await world.runFor(2 * 60 * 60_000)
    expect((await world.worker(id)).version).toBe(version)
    expect(world.invariants.accepted.slice(writes)).toEqual([])
    await world.close()
  })

  it('starts a request within a second', async () => {
    const world = await openWorld(8)
    world.startWorkerController('one')
    const id = await createAndRun(world)
    await world.runFor(45_000)
    for (const [verb, act] of [
      ['stopWorker', 'stop'],
      ['startWorker', 'start'],
      ['terminateWorker', 'terminate'],
    ] as const) {
      await want(world, verb, id)
      await world.untilTrue(act, () => world.mutations.at(-1)?.act === act, 1_000)
      await world.runFor(20 * 60_000)
    }
    await world.close()
  })

  it('corrects manual changes', async () => {
    const world = await openWorld(6)
    world.startWorkerController('one')
    const id = await createAndRun(world)
    const { ec2_instance_id: machine } = await world.worker(id)
    world.cloud.ec2.stopInstances('us-east-1', { ids: [machine ?? ''], force: false })
    await world.time.runFor(60_000)
    expect((await world.worker(id)).service_status).not.toBe('AVAILABLE')
    await world.until(id, 'STARTING')
    await world.until(id, 'RUNNING')
    expect(world.liveMachines()).toBe(1)
    await world.close()
  })
})
