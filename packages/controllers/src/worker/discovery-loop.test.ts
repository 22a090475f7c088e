import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import { CloudError } from '@lcm/cloud/errors'
import { type Instance, TAG } from '@lcm/domain/worker/ec2-instance'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import type { DiscoveryParts } from './discovery-loop.ts'
import { type ADiscovery, aDiscovery, INTERVAL_MS } from './testing/a-discovery.ts'
import {
  BOOTED_MS,
  EPOCH,
  never,
  OTHER_REGION,
  ourTags,
  REGION,
  type SimulatedFleet,
  simulatedFleet,
} from './testing/simulated-cloud-and-api.ts'

const MANAGED = { [TAG.discovery]: 'true' }

let fleet: SimulatedFleet
let found: ADiscovery

const stateOf = async (instance: Instance) => (await fleet.see(instance)).state

beforeEach(async () => {
  fleet = await simulatedFleet()
  found = aDiscovery(fleet)
})

describe('the schedule', () => {
  it('begins five seconds after the term, then follows the interval until the term ends', async () => {
    const ended = found.lead()
    const cycles = () => fleet.plane.requestsOf('listWorkers').length
    await fleet.clock.advance(4_999)
    expect(cycles()).toBe(0)
    await fleet.clock.advance(1)
    expect(cycles()).toBe(1)
    await fleet.clock.advance(2 * INTERVAL_MS)
    expect(cycles()).toBe(3)
    found.end()
    await ended
    expect(fleet.clock.timersLeft()).toBe(0)
  })

  it('lists the cloud before the records, so that new records are found', async () => {
    await found.discover()
    expect(found.order.lastIndexOf('list machines')).toBeLessThan(found.order.indexOf('listWorkers'))
    expect(found.order.filter(each => each === 'list machines')).toHaveLength(2)
  })
})

describe('an unknown machine', () => {
  it.each([
    ['two\nlines', 'two lines'],
    ['one\u202eenil\u009b', 'one enil'],
    ['\u0007', null],
    ['x'.repeat(200), 'x'.repeat(128)],
  ])('is imported also when its name is %j', async (called, name) => {
    const machine = await fleet.launch({ tags: { ...MANAGED, [TAG.name]: called } })
    await fleet.clock.advance(BOOTED_MS)
    await found.discover()
    expect(fleet.plane.requestsOf('importWorker')).toMatchObject([{ body: { name: name ?? machine.instance_id } }])
  })

  it('is imported with its state and its CML version in the current term, and woken', async () => {
    const tags = { ...MANAGED, [TAG.name]: 'found by chance', 'cml-environment': 'prod', 'cml-region': 'emea' }
    const machine = await fleet.launch({ tags })
    await fleet.clock.advance(BOOTED_MS)
    const seen = await fleet.see(machine)
    await found.discover()
    expect(fleet.plane.requestsOf('importWorker')).toMatchObject([
      {
        epoch: EPOCH,
        body: {
          ec2_instance_id: machine.instance_id,
          aws_region: REGION,
          name: 'found by chance',
          template_name: 'imported',
          status: 'STARTING',
          instance_type: 'm5zn.metal',
          ami_id: seen.image_id,
          availability_zone: 'us-east-1a',
          public_ip: seen.public_ip,
          https_endpoint: seen.tags[TAG.endpoint],
          cml_version: '2.9.1+build.7',
          labels: { environment: 'prod', logical_region: 'emea' },
        },
      },
    ])
    const [imported] = await fleet.plane.all('workers')
    expect(imported).toMatchObject({ ec2_instance_id: machine.instance_id, origin: 'DISCOVERY' })
    expect(found.woken).toEqual([imported?.id])
  })

  it('is imported without a CML version when CML does not answer', async () => {
    const stopped = await fleet.launch({ region: OTHER_REGION, tags: MANAGED })
    await fleet.clock.advance(BOOTED_MS)
    await fleet.compute.power(OTHER_REGION, 'stop', [stopped.instance_id], never)
    await fleet.clock.advance(BOOTED_MS)
    await found.discover()
    expect(found.imported()).toMatchObject([
      {
        aws_region: OTHER_REGION,
        name: stopped.instance_id,
        status: 'STOPPED',
        https_endpoint: null,
        cml_version: null,
        labels: {},
      },
    ])
  })

  it('is imported once, however often it is found', async () => {
    await fleet.launch({ tags: MANAGED })
    await fleet.clock.advance(BOOTED_MS)
    await found.discover(3)
    expect(found.imported()).toHaveLength(1)
    expect(found.loop.orphans()).toEqual([])
  })

  it('causes no error when another writer has imported it meanwhile', async () => {
    const machine = await fleet.launch({ tags: MANAGED })
    await fleet.clock.advance(BOOTED_MS)
    const known = await fleet.workerOn(machine, { id: 'w-7' })
    fleet.plane.beforeRequest(async ({ route }) => {
      if (route === 'importWorker') await fleet.plane.put('workers', known)
    })
    await found.discover()
    expect([found.woken, (await fleet.plane.all('workers')).length, found.log.messages('warn')]).toEqual([
      ['w-7'],
      1,
      [],
    ])
  })

  it('is ignored for its first two minutes', async () => {
    await fleet.launch({ tags: MANAGED })
    await found.discover()
    expect(found.imported()).toEqual([])
    await fleet.clock.advance(INTERVAL_MS)
    expect(found.imported()).toHaveLength(1)
  })

  it.each<[string, Readonly<Record<string, string>>]>([
    ['of another fleet', { ...MANAGED, [TAG.fleet]: 'another-fleet' }],
    ['of another fleet that was ours once', { ...ourTags('w-1'), [TAG.fleet]: 'another-fleet' }],
    ['without the discovery tag', { team: 'devnet' }],
    ['whose discovery tag is false', { [TAG.discovery]: 'false' }],
  ])('is ignored when it is one %s', async (_, tags) => {
    await fleet.plane.set({ orphan_action: 'terminate' })
    const machine = await fleet.launch({ tags })
    await fleet.clock.advance(BOOTED_MS)
    await found.discover(3)
    expect([found.imported(), found.woken, found.notes, found.loop.orphans()]).toEqual([[], [], [], []])
    expect(await stateOf(machine)).toBe('running')
  })

  it('is imported only when the name of its image matches', async () => {
    await fleet.launch({ tags: MANAGED })
    await fleet.clock.advance(BOOTED_MS)
    found = aDiscovery(fleet, {}, { discoveryAmiFilter: 'cml-2.8.*' })
    await found.discover()
    expect(found.imported()).toEqual([])
    found.end()
    found = aDiscovery(fleet, {}, { discoveryAmiFilter: 'cml-2.9.?-*' })
    await found.discover()
    expect(found.imported()).toHaveLength(1)
  })

  it('is not imported when imports are off, while orphans are still reported', async () => {
    await fleet.launch({ tags: MANAGED })
    await fleet.launch({ tags: ourTags('w-gone') })
    await fleet.clock.advance(BOOTED_MS)
    found = aDiscovery(fleet, {}, { autoImportEnabled: false })
    await found.discover()
    expect([found.imported(), found.actions()]).toEqual([[], ['orphan_mark']])
  })

  it('does not prevent other imports when the API refuses it', async () => {
    await fleet.launch({ tags: MANAGED })
    await fleet.launch({ tags: MANAGED })
    await fleet.clock.advance(BOOTED_MS)
    fleet.plane.fail({ route: 'importWorker', effect: 'region_not_configured', times: 1 })
    await found.discover()
    expect([found.imported().length, (await fleet.plane.all('workers')).length]).toEqual([2, 1])
    expect(found.log.messages('warn')).toEqual(['could not import a machine'])
  })

  it('does not delay others when its server is slow', async () => {
    for (let n = 0; n < 20; n += 1) await fleet.launch({ tags: MANAGED })
    await fleet.clock.advance(BOOTED_MS)
    const probe: DiscoveryParts['cml']['probe'] = async (endpoint, signal) => {
      await fleet.clock.sleep(3_000)
      return fleet.cml.probe(endpoint, signal)
    }
    found = aDiscovery(fleet, { cml: { ...fleet.cml, probe } })
    await found.discover()
    await fleet.clock.advance(3_000)
    expect(found.imported()).toHaveLength(20)
  })
})

describe('a machine of a known worker', () => {
  it('only wakes the worker, which observes it', async () => {
    await fleet.launch({ tags: ourTags('w-1') })
    await fleet.plane.put('workers', aWorker())
    await fleet.clock.advance(BOOTED_MS)
    await found.discover()
    expect([found.woken, found.imported(), found.loop.orphans()]).toEqual([['w-1'], [], []])
  })

  it.each(['TERMINATING', 'DRAINING', 'STOPPED', 'STARTING'] as const)(
    'does not wake the worker while it is %s',
    async status => {
      const machine = await fleet.launch({ tags: ourTags('w-1') })
      await fleet.clock.advance(BOOTED_MS)
      await fleet.plane.put('workers', await fleet.workerOn(machine, { status, desired_status: 'RUNNING' }))
      await found.discover(2)
      expect(new Set(fleet.plane.requests.map(({ route }) => route))).toEqual(new Set(['listWorkers', 'getSettings']))
      expect([found.woken, found.notes]).toEqual([[], []])
    },
  )
})

describe('an incomplete listing', () => {
  const refuse = () => Promise.reject(new CloudError('transient', { code: 'F', action: 'A', message: 'no answer' }))

  async function anOrphanAndAStranger(): Promise<Instance> {
    await fleet.launch({ tags: MANAGED })
    const orphan = await fleet.launch({ tags: ourTags('w-gone') })
    await fleet.clock.advance(BOOTED_MS)
    await fleet.plane.set({ orphan_action: 'terminate' })
    return orphan
  }

  it.each<[string, (machines: BatchedCompute) => Partial<BatchedCompute>]>([
    [
      'a region',
      machines => ({
        list: (region, ...rest) => (region === OTHER_REGION ? refuse() : machines.list(region, ...rest)),
      }),
    ],
    ['the images', () => ({ imageIds: refuse })],
  ])('without %s changes nothing', async (_, broken) => {
    const orphan = await anOrphanAndAStranger()
    found = aDiscovery(
      fleet,
      { machines: { ...fleet.machines, ...broken(fleet.machines) } },
      { discoveryAmiFilter: '*' },
    )
    await found.discover(3)
    expect([found.imported(), found.loop.orphans(), found.notes]).toEqual([[], [], []])
    expect(await stateOf(orphan)).toBe('running')
    expect(found.log.messages('warn')).toHaveLength(4)
  })

  it('without the records changes nothing, and is repeated', async () => {
    const orphan = await anOrphanAndAStranger()
    fleet.plane.fail({ route: 'listWorkers', effect: 'store_unavailable', times: 3 })
    await found.discover(2)
    expect([found.imported(), found.loop.orphans()]).toEqual([[], []])
    expect(await stateOf(orphan)).toBe('running')
    await fleet.clock.advance(INTERVAL_MS)
    expect([found.imported().length, found.actions()]).toEqual([1, ['orphan_mark']])
  })
})
