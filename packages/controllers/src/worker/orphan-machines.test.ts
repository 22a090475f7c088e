import { CloudError } from '@lcm/cloud/errors'
import { type Instance, TAG } from '@lcm/domain/worker/ec2-instance'
import { beforeEach, describe, expect, it } from 'vitest'
import { type ADiscovery, aDiscovery, INTERVAL_MS } from './testing/a-discovery.ts'
import {
  BOOTED_MS,
  FLEET,
  never,
  ourTags,
  REGION,
  type SimulatedFleet,
  simulatedFleet,
} from './testing/simulated-cloud-and-api.ts'

let fleet: SimulatedFleet
let found: ADiscovery

const stateOf = async (instance: Instance) => (await fleet.see(instance)).state

beforeEach(async () => {
  fleet = await simulatedFleet()
  found = aDiscovery(fleet)
})

describe('a machine of this fleet without a worker record', () => {
  let orphan: Instance

  beforeEach(async () => {
    orphan = await fleet.launch({ tags: ourTags('w-gone') })
    await fleet.clock.advance(BOOTED_MS)
  })

  it('is marked, confirmed by the next round, and then reported once', async () => {
    await found.discover()
    expect(found.loop.orphans()).toMatchObject([
      {
        resource: `fleet:${orphan.instance_id}`,
        action: 'orphan_mark',
        because: {
          code: 'orphan',
          params: {
            instance_id: orphan.instance_id,
            cause: {
              code: 'orphan_found',
              params: { cause: { code: 'worker_unknown', params: { worker_id: 'w-gone' } } },
            },
          },
        },
      },
    ])
    await fleet.clock.advance(5 * INTERVAL_MS)
    expect(found.actions()).toEqual(['orphan_report'])
    expect(found.notes.map(({ action }) => action)).toEqual(['orphan_mark', 'orphan_report'])
    expect(await stateOf(orphan)).toBe('running')
  })

  it('includes a machine whose worker is TERMINATED', async () => {
    await fleet.plane.put(
      'workers',
      await fleet.workerOn(orphan, { status: 'TERMINATED', desired_status: 'TERMINATED' }),
    )
    await found.discover()
    const cause = { code: 'worker_terminated', params: { worker: 'metal-1', state: 'running' } }
    expect(found.loop.orphans()).toMatchObject([
      { because: { code: 'orphan', params: { cause: { code: 'orphan_found', params: { cause } } } } },
    ])
  })

  it('is terminated only with orphan_action terminate, and the termination is reported', async () => {
    await fleet.plane.set({ orphan_action: 'terminate' })
    await found.discover()
    expect(await stateOf(orphan)).toBe('running')
    await fleet.clock.advance(INTERVAL_MS)
    expect(await stateOf(orphan)).toBe('shutting-down')
    expect(found.notes.map(({ resource, action }) => [resource, action])).toEqual([
      [`fleet:${orphan.instance_id}`, 'orphan_mark'],
      [`fleet:${orphan.instance_id}`, 'orphan_terminate'],
    ])
    await fleet.clock.advance(INTERVAL_MS)
    expect(found.loop.orphans()).toEqual([])
  })

  it('is marked again by a new term: a new leader is slower to act, never quicker', async () => {
    await fleet.plane.set({ orphan_action: 'terminate' })
    await found.discover()
    found.end()
    await fleet.clock.advance(INTERVAL_MS)
    const begun = found.lead()
    expect(found.loop.orphans()).toEqual([])
    await fleet.clock.advance(5_000)
    expect([found.actions(), await stateOf(orphan)]).toEqual([['orphan_mark'], 'running'])
    await fleet.clock.advance(INTERVAL_MS)
    expect(await stateOf(orphan)).toBe('shutting-down')
    found.end()
    await begun
  })

  it('loses its mark when a worker has adopted it meanwhile', async () => {
    await fleet.plane.set({ orphan_action: 'terminate' })
    await found.discover()
    await fleet.plane.put('workers', await fleet.workerOn(orphan, { id: 'w-gone' }))
    await fleet.clock.advance(INTERVAL_MS)
    await fleet.plane.remove('workers', 'w-gone')
    await fleet.clock.advance(INTERVAL_MS)
    expect([found.actions(), await stateOf(orphan)]).toEqual([['orphan_mark'], 'running'])
  })

  it('is kept when its tag says so', async () => {
    await fleet.plane.set({ orphan_action: 'terminate' })
    fleet.model.ec2.createTags(REGION, { ids: [orphan.instance_id], tags: { 'lcm:keep': 'true' } })
    await found.discover(3)
    expect([found.actions(), await stateOf(orphan)]).toEqual([['orphan_report'], 'running'])
  })

  it("stays marked when it can't be terminated", async () => {
    await fleet.plane.set({ orphan_action: 'terminate' })
    const power = () =>
      Promise.reject(new CloudError('protected', { code: 'P', action: 'T', message: 'it is protected' }))
    found = aDiscovery(fleet, { machines: { ...fleet.machines, powerOne: power } })
    await found.discover(1)
    expect(found.log.messages('warn')).toEqual(['could not terminate an orphan'])
    expect(found.actions()).toEqual(['orphan_terminate'])
  })

  it('is kept while the number of recent terminations is unknown', async () => {
    await fleet.plane.set({ orphan_action: 'terminate' })
    await found.discover()
    fleet.plane.fail({ route: 'permitOrphanTermination', effect: 'store_unavailable', times: 1 })
    await fleet.clock.advance(INTERVAL_MS)
    expect(await stateOf(orphan)).toBe('running')
    await fleet.clock.advance(INTERVAL_MS)
    expect(await stateOf(orphan)).toBe('shutting-down')
  })

  it('is terminated within the limit per hour', async () => {
    await fleet.plane.set({ orphan_action: 'terminate' })
    for (let n = 0; n < 4; n += 1) await fleet.launch({ tags: ourTags(`w-gone-${n}`) })
    await fleet.clock.advance(BOOTED_MS)
    await found.discover(1)
    const live = async () => {
      const listed = await fleet.compute.list(REGION, { tags: { [TAG.fleet]: FLEET } }, never)
      return listed.filter(({ state }) => state === 'running').length
    }
    expect(await live()).toBe(3)
    expect(found.actions()).toEqual([
      'orphan_terminate',
      'orphan_terminate',
      'orphan_hold',
      'orphan_hold',
      'orphan_hold',
    ])
    found.end()
    found = aDiscovery(fleet)
    await found.discover(2)
    expect(found.actions(), 'the limit outlives the process').toEqual(['orphan_hold', 'orphan_hold', 'orphan_hold'])
    await fleet.clock.advance(9 * INTERVAL_MS)
    expect(await live()).toBe(3)
    await fleet.clock.advance(INTERVAL_MS)
    expect(await live()).toBe(1)
  })
})
