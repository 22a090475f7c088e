import type { Instance } from '@lcm/domain/worker/ec2-instance'
import { describe, expect, it } from 'vitest'
import type { InstanceFilter } from '../compute.ts'
import {
  type ComputeFixture,
  computeFixture,
  failsAs,
  MINUTE,
  type OpenCompute,
  signal,
  UNKNOWN_ID,
} from './compute-fixture.ts'
import { exactPower, power, slowStates } from './compute-power-cases.ts'

export type { ComputeSetup, OpenCompute } from './compute-fixture.ts'

/** Features that a cloud may lack and still check the rest. */
export interface ComputeFeatures {
  /** Launches once per client token, and finds machines by it. */
  readonly client_tokens: boolean
  readonly slow_states: boolean
  /** Checks the state of a machine before a power change. */
  readonly exact_power: boolean
  readonly offerings: boolean
  /** Tells an escaped backslash in a filter from two of them. */
  readonly backslashes: boolean
  /** Rejects tags for a missing machine. */
  readonly checked_tags: boolean
}

const ALL_FEATURES: ComputeFeatures = {
  client_tokens: true,
  slow_states: true,
  exact_power: true,
  offerings: true,
  backslashes: true,
  checked_tags: true,
}

/** More than two pages of any adapter. */
const FLEET_SIZE = 450

/** Cases that every adapter of the compute port must pass. */
export function computeConformance(
  name: string,
  open: () => Promise<OpenCompute>,
  features: ComputeFeatures = ALL_FEATURES,
): void {
  describe(`compute on ${name}`, () => {
    const fixture = computeFixture(open)
    launching(fixture)
    describe.runIf(features.client_tokens)('client tokens', () => clientTokens(fixture))
    listing(fixture)
    describe.runIf(features.backslashes)('backslashes', () => backslashes(fixture))
    images(fixture)
    power(fixture)
    tagging(fixture)
    describe.runIf(features.checked_tags)('tags of an unknown machine', () => checkedTags(fixture))
    describe.runIf(features.exact_power)('power of a machine in any state', () => exactPower(fixture))
    describe.runIf(features.slow_states)('states that change slowly', () => slowStates(fixture))
    describe.runIf(features.offerings)('offerings', () => offerings(fixture))
    givingUp(fixture)
  })
}

function launching({ cloud, launch, launchRunning, read }: ComputeFixture): void {
  it('launches a machine with the requested parameters', async () => {
    const launched = await launch('token-1', { tags: { Name: 'ä <w> & "1"', empty: '' } })
    expect(launched).toMatchObject({ instance_type: cloud().place.instance_type, state_reason: null })
    await cloud().advance(2 * MINUTE)
    const running = await read(launched.instance_id)
    expect(running).toMatchObject({ state: 'running', client_token: 'token-1', image_id: launched.image_id })
    expect(running.tags).toMatchObject({ Name: 'ä <w> & "1"', empty: '' })
    expect(running.public_ip).toMatch(/^\d+\.\d+\.\d+\.\d+$/)
    expect(running.availability_zone.startsWith(cloud().place.region)).toBe(true)
    expect(Date.parse(running.launched_at)).not.toBeNaN()
  })

  it('keeps regions apart', async () => {
    const { instance_id } = await launchRunning('token-1')
    const { compute, place } = cloud()
    const elsewhere = await compute.describe(place.other_region, [instance_id], signal())
    expect(elsewhere).toEqual({ found: [], missing: [instance_id] })
    expect(await compute.list(place.other_region, { client_token: 'token-1' }, signal())).toEqual([])
  })

  it('rejects unknown images and subnets as invalid', async () => {
    await expect(launch('token-1', { image_id: 'ami-0123456789abcdef0' })).rejects.toEqual(failsAs('invalid'))
    await expect(launch('token-2', { subnet_id: 'subnet-0123456789abcdef0' })).rejects.toEqual(failsAs('invalid'))
  })
}

function clientTokens({ cloud, launch, launchRunning }: ComputeFixture): void {
  it('lists by token, also together with tags', async () => {
    const { instance_id } = await launchRunning('token-1')
    const ids = async (filter: InstanceFilter) =>
      (await cloud().compute.list(cloud().place.region, filter, signal())).map(each => each.instance_id)
    const tags = { 'lcm:fleet': 'conformance' }
    expect(await ids({ client_token: 'token-1' })).toEqual([instance_id])
    expect(await ids({ tags, client_token: 'token-1' })).toEqual([instance_id])
    expect(await ids({ tags, client_token: 'token-2' })).toEqual([])
  })

  const withToken = async (token: string) => {
    await cloud().advance(2 * MINUTE)
    return cloud().compute.list(cloud().place.region, { client_token: token }, signal())
  }

  it('launches exactly one machine however often a token is used', async () => {
    const first = await launch('token-1')
    const repeated = await Promise.all([launch('token-1'), launch('token-1'), launch('token-1')])
    expect(new Set(repeated.map(instance => instance.instance_id))).toEqual(new Set([first.instance_id]))
    expect(await withToken('token-1')).toHaveLength(1)
  })

  it('ignores the order of tags when it compares launches', async () => {
    const first = await launch('token-1', { tags: { a: '1', b: '2' } })
    const again = await launch('token-1', { tags: { b: '2', a: '1' } })
    expect(again.instance_id).toBe(first.instance_id)
  })

  it('rejects a token that is used with other parameters', async () => {
    await launch('token-1')
    await expect(launch('token-1', { root_volume_gb: 65 })).rejects.toEqual(failsAs('attempt_mismatch'))
    expect(await withToken('token-1')).toHaveLength(1)
  })

  it('treats an attempt as spent from the moment that its machine dies', async () => {
    const { compute, place } = cloud()
    const { instance_id } = await launchRunning('token-1')
    await compute.power(place.region, 'terminate', [instance_id], signal())
    await expect(launch('token-1')).rejects.toEqual(failsAs('attempt_spent'))
    await cloud().advance(5 * MINUTE)
    await expect(launch('token-1')).rejects.toEqual(failsAs('attempt_spent'))
    await cloud().advance(120 * MINUTE)
    await expect(launch('token-1')).rejects.toEqual(failsAs('attempt_spent'))
  })

  it('launches a second machine when the token is used in another zone', async () => {
    const first = await launch('token-1')
    const second = await launch('token-1', { subnet_id: cloud().place.other_subnet_id })
    expect(second.instance_id).not.toBe(first.instance_id)
    expect(await withToken('token-1')).toHaveLength(2)
  })
}

function listing({ cloud, launch, launchRunning }: ComputeFixture): void {
  const list = (tags: Readonly<Record<string, string>>) =>
    cloud().compute.list(cloud().place.region, { tags }, signal())

  it('lists by all tags together', async () => {
    const { instance_id } = await launchRunning('token-1')
    const ids = async (instances: Promise<readonly Instance[]>) => (await instances).map(each => each.instance_id)
    expect(await ids(list({ 'lcm:fleet': 'conformance', 'lcm:worker_id': 'w-1' }))).toEqual([instance_id])
    expect(await ids(list({ 'lcm:fleet': 'conformance', 'lcm:worker_id': 'w-2' }))).toEqual([])
  })

  it('treats the characters of a tag literally, not as wildcards', async () => {
    await launch('token-1', { tags: { 'lcm:fleet': 'a*b?c' } })
    await launch('token-2', { tags: { 'lcm:fleet': 'aXb1c' } })
    await cloud().advance(MINUTE)
    expect((await list({ 'lcm:fleet': 'a*b?c' })).map(instance => instance.client_token)).toEqual(['token-1'])
    expect(await list({ 'lcm:fleet': '*' })).toEqual([])
  })

  it('rejects a list without a filter', async () => {
    await expect(list({})).rejects.toEqual(failsAs('invalid'))
  })

  it('lists a fleet of many pages completely, and describes it by id', async () => {
    await cloud().plant(FLEET_SIZE, { 'lcm:fleet': 'large' })
    await cloud().advance(MINUTE)
    const fleet = await list({ 'lcm:fleet': 'large' })
    const ids = fleet.map(instance => instance.instance_id)
    expect(new Set(ids).size).toBe(FLEET_SIZE)
    const { found: described, missing } = await cloud().compute.describe(cloud().place.region, ids, signal())
    expect([described.length, missing]).toEqual([FLEET_SIZE, []])
  })

  it('lists by more images than one request can name', async () => {
    const { instance_id, image_id } = await launchRunning('token-1')
    const others = Array.from({ length: FLEET_SIZE }, (_, n) => `ami-${n.toString(16).padStart(17, '0')}`)
    const { compute, place } = cloud()
    const found = await compute.list(place.region, { image_ids: [...others, image_id] }, signal())
    expect(found.map(instance => instance.instance_id)).toEqual([instance_id])
  })

  it('tells known ids from unknown ones', async () => {
    const { compute, place } = cloud()
    const first = await launchRunning('token-1')
    const second = await launchRunning('token-2')
    const asked = [UNKNOWN_ID, first.instance_id, 'i-00000000000000000', second.instance_id]
    const answer = await compute.describe(place.region, asked, signal())
    expect(answer.missing.toSorted()).toEqual(['i-00000000000000000', UNKNOWN_ID])
    expect(new Set(answer.found.map(instance => instance.instance_id))).toEqual(
      new Set([first.instance_id, second.instance_id]),
    )
    expect(await compute.describe(place.region, [UNKNOWN_ID], signal())).toEqual({ found: [], missing: [UNKNOWN_ID] })
    expect(await compute.describe(place.region, [], signal())).toEqual({ found: [], missing: [] })
  })
}

function backslashes({ cloud, launch }: ComputeFixture): void {
  it('treats backslashes of a tag literally', async () => {
    await launch('token-1', { tags: { 'lcm:fleet': 'a\\*\\\\b' } })
    await launch('token-2', { tags: { 'lcm:fleet': 'a*\\b' } })
    await cloud().advance(MINUTE)
    const found = await cloud().compute.list(cloud().place.region, { tags: { 'lcm:fleet': 'a\\*\\\\b' } }, signal())
    expect(found.map(instance => instance.client_token)).toEqual(['token-1'])
  })
}

function images({ cloud }: ComputeFixture): void {
  it('selects the newest available image of exactly that owner', async () => {
    const { compute, place } = cloud()
    const image = await compute.newestImage(place.region, place.images, signal())
    expect(image).toMatchObject(place.newest_image)
    expect(image?.image_id).toMatch(/^ami-/)
  })

  it('lists every image that matches, also those that are not the newest', async () => {
    const { compute, place } = cloud()
    const newest = await compute.newestImage(place.region, place.images, signal())
    const ids = await compute.imageIds(place.region, place.images.name_pattern, signal())
    expect(ids).toContain(newest?.image_id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.length).toBeGreaterThan(1)
    expect(await compute.imageIds(place.region, 'there-is-no-such-image-*', signal())).toEqual([])
  })

  it('returns null when no image matches', async () => {
    const { compute, place } = cloud()
    const wanted = { ...place.images, name_pattern: 'there-is-no-such-image-*' }
    expect(await compute.newestImage(place.region, wanted, signal())).toBeNull()
  })
}

function tagging({ cloud, launchRunning, read }: ComputeFixture): void {
  it('sets tags of one machine, changes existing ones and leaves the others', async () => {
    const { compute, place } = cloud()
    const { instance_id, tags } = await launchRunning('token-1')
    const other = await launchRunning('token-2')
    const renamed = { Name: 'ö <w> & "2"', empty: '' }
    await compute.tag(place.region, instance_id, renamed, signal())
    await compute.tag(place.region, instance_id, renamed, signal())
    await cloud().advance(MINUTE)
    expect((await read(instance_id)).tags).toEqual({ ...tags, ...renamed })
    expect((await read(other.instance_id)).tags).toEqual(other.tags)
  })
}

function checkedTags({ cloud }: ComputeFixture): void {
  it('are rejected', async () => {
    const { compute, place } = cloud()
    await expect(compute.tag(place.region, UNKNOWN_ID, { Name: 'x' }, signal())).rejects.toEqual(failsAs('not_found'))
  })
}

function offerings({ cloud, launch }: ComputeFixture): void {
  it('reports a type that the zone does not offer as a capacity error', async () => {
    await expect(launch('token-1', cloud().place.not_offered)).rejects.toEqual(failsAs('capacity'))
  })

  it('rejects nested virtualization where the type lacks it, and unknown types', async () => {
    await expect(launch('token-1', { nested_virtualization: true })).rejects.toEqual(failsAs('invalid'))
    await expect(launch('token-2', { instance_type: 'x0.nano' })).rejects.toEqual(failsAs('invalid'))
  })
}

function givingUp({ cloud, request }: ComputeFixture): void {
  it('does nothing once its signal has aborted', async () => {
    const { compute, place } = cloud()
    const aborted = AbortSignal.abort()
    const wanted = await request('token-1')
    await expect(compute.launch(place.region, wanted, aborted)).rejects.toEqual(failsAs('transient'))
    await expect(compute.list(place.region, { client_token: 'token-1' }, aborted)).rejects.toEqual(failsAs('transient'))
    await expect(compute.power(place.region, 'stop', [UNKNOWN_ID], aborted)).rejects.toEqual(failsAs('transient'))
    await expect(compute.tag(place.region, UNKNOWN_ID, { Name: 'x' }, aborted)).rejects.toEqual(failsAs('transient'))
    await cloud().advance(MINUTE)
    expect(await compute.list(place.region, { client_token: 'token-1' }, signal())).toEqual([])
  })
}
