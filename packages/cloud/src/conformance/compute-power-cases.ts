import { expect, it } from 'vitest'
import type { PowerAction } from '../compute.ts'
import { powerEach } from '../compute-wrappers/batched-compute.ts'
import { type ComputeFixture, failsAs, MINUTE, SECOND, signal, UNKNOWN_ID } from './compute-fixture.ts'

/** More than fit into one call. */
const MANY = 60

export function power({ cloud, launchRunning, read }: ComputeFixture): void {
  const { each, start, stop, terminate } = powerOf(cloud)

  it('stops and starts a machine, which keeps its id and loses its address', async () => {
    const before = await launchRunning('token-1')
    expect(['stopping', 'stopped']).toContain(await stop(before.instance_id))
    await cloud().advance(5 * MINUTE)
    const stopped = await read(before.instance_id)
    expect(stopped).toMatchObject({ state: 'stopped', public_ip: null })
    expect(stopped.state_reason).toBe('Client.UserInitiatedShutdown')
    await start(before.instance_id)
    await cloud().advance(2 * MINUTE)
    const after = await read(before.instance_id)
    expect(after).toMatchObject({ state: 'running', state_reason: null })
    expect(after.public_ip).not.toBe(before.public_ip)
  })

  it('accepts the same change twice', async () => {
    const { instance_id } = await launchRunning('token-1')
    expect(['running', 'pending']).toContain(await start(instance_id))
    await stop(instance_id)
    expect(['stopping', 'stopped']).toContain(await stop(instance_id))
    expect(['shutting-down', 'terminated']).toContain(await terminate(instance_id))
    expect(['shutting-down', 'terminated']).toContain(await terminate(instance_id))
    await cloud().advance(5 * MINUTE)
    expect(await read(instance_id)).toMatchObject({ state: 'terminated', public_ip: null })
  })

  it('rejects an unknown machine', async () => {
    await expect(start(UNKNOWN_ID)).rejects.toEqual(failsAs('not_found'))
    await expect(terminate(UNKNOWN_ID)).rejects.toEqual(failsAs('not_found'))
    await expect(stop(UNKNOWN_ID)).rejects.toEqual(failsAs('not_found'))
  })

  it('changes many machines together, and tells unknown ones from the others', async () => {
    const { compute, place, advance, plant } = cloud()
    await plant(MANY, { 'lcm:fleet': 'many' })
    await advance(2 * MINUTE)
    const fleet = await compute.list(place.region, { tags: { 'lcm:fleet': 'many' } }, signal())
    const known = fleet.map(instance => instance.instance_id)
    const outcome = await each('terminate', [UNKNOWN_ID, ...known, 'i-00000000000000000'])
    expect(outcome.get(UNKNOWN_ID)).toEqual(failsAs('not_found'))
    expect(outcome.get('i-00000000000000000')).toEqual(failsAs('not_found'))
    expect(known.filter(id => !['shutting-down', 'terminated'].includes(String(outcome.get(id))))).toEqual([])
    expect([known.length, outcome.size]).toEqual([MANY, MANY + 2])
    expect(await each('stop', [])).toEqual(new Map())
  })
}

function powerOf(cloud: ComputeFixture['cloud']) {
  const each = (act: PowerAction, ids: readonly string[]) =>
    powerEach(ids, some => cloud().compute.power(cloud().place.region, act, some, signal()))
  const one = async (act: PowerAction, id: string): Promise<string> => {
    const outcome = (await each(act, [id])).get(id)
    if (typeof outcome === 'string') return outcome
    throw outcome ?? new Error(`no outcome for ${id}`)
  }
  return {
    each,
    start: (id: string) => one('start', id),
    terminate: (id: string) => one('terminate', id),
    stop: (id: string, force = false) => one(force ? 'force_stop' : 'stop', id),
  }
}

export function exactPower({ cloud, launchRunning, read }: ComputeFixture): void {
  const { each, start, stop, terminate } = powerOf(cloud)

  it('dates a machine from its last start', async () => {
    const before = await launchRunning('token-1')
    await stop(before.instance_id)
    await cloud().advance(5 * MINUTE)
    await start(before.instance_id)
    await cloud().advance(2 * MINUTE)
    const after = await read(before.instance_id)
    expect(Date.parse(after.launched_at)).toBeGreaterThan(Date.parse(before.launched_at))
  })

  it('reports the state of a machine that has already arrived there', async () => {
    const { instance_id } = await launchRunning('token-1')
    expect(await start(instance_id)).toBe('running')
    await stop(instance_id)
    await cloud().advance(5 * MINUTE)
    expect(await stop(instance_id)).toBe('stopped')
    await terminate(instance_id)
    await cloud().advance(5 * MINUTE)
    expect(await terminate(instance_id)).toBe('terminated')
  })

  it('terminates permanently', async () => {
    const { instance_id } = await launchRunning('token-1')
    await terminate(instance_id)
    await cloud().advance(5 * MINUTE)
    await expect(start(instance_id)).rejects.toEqual(failsAs('state'))
    await expect(stop(instance_id)).rejects.toEqual(failsAs('state'))
  })

  it("stops the others when one can't be stopped", async () => {
    const { instance_id: dead } = await launchRunning('token-1')
    const { instance_id: first } = await launchRunning('token-2')
    const { instance_id: second } = await launchRunning('token-3')
    await terminate(dead)
    await cloud().advance(5 * MINUTE)
    const outcome = await each('stop', [first, dead, second])
    expect(outcome.get(dead)).toEqual(failsAs('state'))
    expect([outcome.get(first), outcome.get(second)]).toEqual(['stopping', 'stopping'])
  })
}

export function slowStates({ cloud, launch, launchRunning, read }: ComputeFixture): void {
  const { start, stop } = powerOf(cloud)

  it('may not know a young machine, and knows it soon', async () => {
    const { instance_id, state } = await launch('token-1')
    expect(state).toBe('pending')
    const { compute, place } = cloud()
    const young = await compute.describe(place.region, [instance_id], signal())
    expect([...young.missing, ...young.found.map(instance => instance.instance_id)]).toEqual([instance_id])
    await cloud().advance(5 * SECOND)
    expect((await read(instance_id)).state).toBe('pending')
  })

  it("rejects a change that the machine's state forbids", async () => {
    const young = await launch('token-1')
    await cloud().advance(5 * SECOND)
    await expect(stop(young.instance_id)).rejects.toEqual(failsAs('state'))
    const { instance_id } = await launchRunning('token-2')
    expect(await stop(instance_id)).toBe('stopping')
    await expect(start(instance_id)).rejects.toEqual(failsAs('state'))
  })

  it('stops faster when forced', async () => {
    const { instance_id } = await launchRunning('token-1')
    await stop(instance_id)
    expect(await stop(instance_id, true)).toBe('stopping')
    await cloud().advance(30 * SECOND)
    expect((await read(instance_id)).state).toBe('stopped')
  })

  it('shows a dead machine for a while and then no more', async () => {
    const { instance_id } = await launchRunning('token-1')
    const { compute, place } = cloud()
    await compute.power(place.region, 'terminate', [instance_id], signal())
    await cloud().advance(30 * MINUTE)
    expect(await compute.list(place.region, { client_token: 'token-1' }, signal())).toHaveLength(1)
    await cloud().advance(60 * MINUTE)
    expect(await compute.list(place.region, { client_token: 'token-1' }, signal())).toEqual([])
    expect((await compute.describe(place.region, [instance_id], signal())).missing).toEqual([instance_id])
  })
}
