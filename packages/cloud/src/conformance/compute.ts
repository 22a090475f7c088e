import type { Instance, LaunchParameters } from '@lcm/domain/worker/instance'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Compute, Image, ImageQuery, LaunchRequest } from '../compute.ts'
import type { CloudErrorClass } from '../errors.ts'

/** A fresh cloud for one test. */
export interface OpenCompute {
  readonly compute: Compute
  readonly place: ComputePlace
  /** Moves the cloud's time. */
  advance(ms: number): Promise<void>
  /** Launches that many machines in one go, without the port. */
  plant(count: number, tags: Readonly<Record<string, string>>): Promise<void>
  close(): Promise<void>
}

export interface ComputePlace {
  readonly region: string
  readonly other_region: string
  readonly subnet_id: string
  /** In another zone of the same region. */
  readonly other_subnet_id: string
  readonly instance_type: string
  /** A type with a subnet whose zone does not have it. */
  readonly not_offered: { readonly instance_type: string; readonly subnet_id: string }
  /** Must match older images of the owner, newer ones of others and a newer one that is not available. */
  readonly images: ImageQuery
  readonly newest_image: Pick<Image, 'name' | 'created_at'>
}

/** What a cloud may lack and still be of use as a judge of the rest. */
export interface ComputeFeatures {
  readonly client_tokens: boolean
  readonly slow_states: boolean
  readonly offerings: boolean
}

const ALL_FEATURES: ComputeFeatures = { client_tokens: true, slow_states: true, offerings: true }

const SECOND = 1000
const MINUTE = 60 * SECOND
const UNKNOWN_ID = 'i-0123456789abcdef0'
/** More than two pages of any adapter. */
const FLEET_SIZE = 450

/** What every adapter of the compute port promises. */
export function computeConformance(
  name: string,
  open: () => Promise<OpenCompute>,
  features: ComputeFeatures = ALL_FEATURES,
): void {
  describe(`compute on ${name}`, () => {
    const world = openWorld(open)
    launching(world)
    describe.runIf(features.client_tokens)('client tokens', () => clientTokens(world))
    listing(world)
    images(world)
    power(world)
    describe.runIf(features.slow_states)('states that take their time', () => slowStates(world))
    describe.runIf(features.offerings)('offerings', () => offerings(world))
    givingUp(world)
  })
}

type World = ReturnType<typeof openWorld>

function openWorld(open: () => Promise<OpenCompute>) {
  let opened: OpenCompute | undefined
  const cloud = (): OpenCompute => {
    if (!opened) throw new Error('the cloud is open only while a test runs')
    return opened
  }
  beforeEach(async () => {
    opened = await open()
  })
  afterEach(async () => {
    await opened?.close()
  })
  const request = async (client_token: string, changes: Partial<LaunchParameters> = {}): Promise<LaunchRequest> => ({
    client_token,
    parameters: { ...(await launchParameters(cloud())), ...changes },
  })
  const launch = async (client_token: string, changes: Partial<LaunchParameters> = {}): Promise<Instance> =>
    cloud().compute.launch(cloud().place.region, await request(client_token, changes), signal())
  return {
    cloud,
    request,
    launch,
    /** Launches and waits until the machine runs. */
    async launchRunning(client_token: string): Promise<Instance> {
      const { instance_id } = await launch(client_token)
      await cloud().advance(2 * MINUTE)
      return found(cloud(), instance_id)
    },
    look: (instanceId: string): Promise<Instance> => found(cloud(), instanceId),
  }
}

const signal = () => new AbortController().signal

async function launchParameters({ compute, place }: OpenCompute): Promise<LaunchParameters> {
  const image = await compute.newestImage(place.region, place.images, signal())
  return {
    image_id: image?.image_id ?? '',
    instance_type: place.instance_type,
    subnet_id: place.subnet_id,
    security_group_ids: [],
    key_name: null,
    root_device: '/dev/sda1',
    root_volume_gb: 64,
    volume_encrypted: false,
    iam_instance_profile: null,
    nested_virtualization: false,
    tags: { Name: 'a worker', 'lcm:worker_id': 'w-1', 'lcm:fleet': 'conformance' },
  }
}

async function found({ compute, place }: OpenCompute, instanceId: string): Promise<Instance> {
  const answer = await compute.describe(place.region, [instanceId], signal())
  const instance = answer.found[0]
  if (!instance) throw new Error(`${instanceId} is missing`)
  return instance
}

const failsAs = (errorClass: CloudErrorClass) => expect.objectContaining({ name: 'CloudError', errorClass })

function launching({ cloud, launch, launchRunning, look }: World): void {
  it('launches a machine that comes up with what was asked for', async () => {
    const launched = await launch('token-1', { tags: { Name: 'ä <w> & "1"', empty: '' } })
    expect(launched).toMatchObject({ instance_type: cloud().place.instance_type, state_reason: null })
    await cloud().advance(2 * MINUTE)
    const running = await look(launched.instance_id)
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

  it('refuses images and subnets that do not exist as invalid', async () => {
    await expect(launch('token-1', { image_id: 'ami-0123456789abcdef0' })).rejects.toEqual(failsAs('invalid'))
    await expect(launch('token-2', { subnet_id: 'subnet-0123456789abcdef0' })).rejects.toEqual(failsAs('invalid'))
  })
}

function clientTokens({ cloud, launch, launchRunning }: World): void {
  const withToken = async (token: string) => {
    await cloud().advance(2 * MINUTE)
    return cloud().compute.list(cloud().place.region, { client_token: token }, signal())
  }

  it('launches exactly one machine however often a token comes', async () => {
    const first = await launch('token-1')
    const repeated = await Promise.all([launch('token-1'), launch('token-1'), launch('token-1')])
    expect(new Set(repeated.map(instance => instance.instance_id))).toEqual(new Set([first.instance_id]))
    expect(await withToken('token-1')).toHaveLength(1)
  })

  it('does not take the order of tags for another launch', async () => {
    const first = await launch('token-1', { tags: { a: '1', b: '2' } })
    const again = await launch('token-1', { tags: { b: '2', a: '1' } })
    expect(again.instance_id).toBe(first.instance_id)
  })

  it('refuses a token that comes with other parameters', async () => {
    await launch('token-1')
    await expect(launch('token-1', { root_volume_gb: 65 })).rejects.toEqual(failsAs('attempt_mismatch'))
    expect(await withToken('token-1')).toHaveLength(1)
  })

  it('calls an attempt spent from the moment that its machine dies', async () => {
    const { compute, place } = cloud()
    const { instance_id } = await launchRunning('token-1')
    await compute.terminate(place.region, instance_id, signal())
    await expect(launch('token-1')).rejects.toEqual(failsAs('attempt_spent'))
    await cloud().advance(5 * MINUTE)
    await expect(launch('token-1')).rejects.toEqual(failsAs('attempt_spent'))
    await cloud().advance(120 * MINUTE)
    await expect(launch('token-1')).rejects.toEqual(failsAs('attempt_spent'))
  })

  it('launches a second machine when the token comes in another zone', async () => {
    const first = await launch('token-1')
    const second = await launch('token-1', { subnet_id: cloud().place.other_subnet_id })
    expect(second.instance_id).not.toBe(first.instance_id)
    expect(await withToken('token-1')).toHaveLength(2)
  })
}

function listing({ cloud, launch, launchRunning }: World): void {
  const list = (tags: Readonly<Record<string, string>>) =>
    cloud().compute.list(cloud().place.region, { tags }, signal())

  it('lists by all the tags together, and by token', async () => {
    const { instance_id } = await launchRunning('token-1')
    const ids = async (instances: Promise<readonly Instance[]>) => (await instances).map(each => each.instance_id)
    expect(await ids(list({ 'lcm:fleet': 'conformance', 'lcm:worker_id': 'w-1' }))).toEqual([instance_id])
    expect(await ids(list({ 'lcm:fleet': 'conformance', 'lcm:worker_id': 'w-2' }))).toEqual([])
    const filter = { tags: { 'lcm:fleet': 'conformance' }, client_token: 'token-1' }
    expect(await ids(cloud().compute.list(cloud().place.region, filter, signal()))).toEqual([instance_id])
  })

  it('takes the characters of a tag as they are, not as wildcards', async () => {
    await launch('token-1', { tags: { 'lcm:fleet': 'a*b?\\c' } })
    await launch('token-2', { tags: { 'lcm:fleet': 'aXb1\\c' } })
    await cloud().advance(MINUTE)
    expect((await list({ 'lcm:fleet': 'a*b?\\c' })).map(instance => instance.client_token)).toEqual(['token-1'])
    expect(await list({ 'lcm:fleet': '*' })).toEqual([])
  })

  it('refuses to list without a filter', async () => {
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

function images({ cloud }: World): void {
  it('takes the newest available image of exactly that owner', async () => {
    const { compute, place } = cloud()
    const image = await compute.newestImage(place.region, place.images, signal())
    expect(image).toMatchObject(place.newest_image)
    expect(image?.image_id).toMatch(/^ami-/)
  })

  it('answers null when no image fits', async () => {
    const { compute, place } = cloud()
    const wanted = { ...place.images, name_pattern: 'there-is-no-such-image-*' }
    expect(await compute.newestImage(place.region, wanted, signal())).toBeNull()
  })
}

function power({ cloud, launchRunning, look }: World): void {
  const act = (name: 'start' | 'terminate', id: string) => cloud().compute[name](cloud().place.region, id, signal())
  const stop = (instance_id: string, force = false) =>
    cloud().compute.stop(cloud().place.region, { instance_id, force }, signal())

  it('stops and starts a machine, which keeps its id and loses its address', async () => {
    const before = await launchRunning('token-1')
    await stop(before.instance_id)
    await cloud().advance(5 * MINUTE)
    const stopped = await look(before.instance_id)
    expect(stopped).toMatchObject({ state: 'stopped', public_ip: null })
    expect(stopped.state_reason).toBe('Client.UserInitiatedShutdown')
    await act('start', before.instance_id)
    await cloud().advance(2 * MINUTE)
    const after = await look(before.instance_id)
    expect(after).toMatchObject({ state: 'running', state_reason: null })
    expect(after.public_ip).not.toBe(before.public_ip)
    expect(Date.parse(after.launched_at)).toBeGreaterThan(Date.parse(before.launched_at))
  })

  it('may be told twice', async () => {
    const { instance_id } = await launchRunning('token-1')
    expect(['running', 'pending']).toContain(await act('start', instance_id))
    await stop(instance_id)
    expect(['stopping', 'stopped']).toContain(await stop(instance_id))
    await cloud().advance(5 * MINUTE)
    expect(await stop(instance_id)).toBe('stopped')
  })

  it('terminates for good, and may be told again', async () => {
    const { instance_id } = await launchRunning('token-1')
    expect(['shutting-down', 'terminated']).toContain(await act('terminate', instance_id))
    expect(['shutting-down', 'terminated']).toContain(await act('terminate', instance_id))
    await cloud().advance(5 * MINUTE)
    expect(await act('terminate', instance_id)).toBe('terminated')
    expect(await look(instance_id)).toMatchObject({ state: 'terminated', public_ip: null })
    await expect(act('start', instance_id)).rejects.toEqual(failsAs('state'))
    await expect(stop(instance_id)).rejects.toEqual(failsAs('state'))
  })

  it('says that it does not know a machine', async () => {
    await expect(act('start', UNKNOWN_ID)).rejects.toEqual(failsAs('not_found'))
    await expect(act('terminate', UNKNOWN_ID)).rejects.toEqual(failsAs('not_found'))
    await expect(stop(UNKNOWN_ID)).rejects.toEqual(failsAs('not_found'))
  })
}

function slowStates({ cloud, launch, launchRunning, look }: World): void {
  const start = (id: string) => cloud().compute.start(cloud().place.region, id, signal())
  const stop = (instance_id: string, force = false) =>
    cloud().compute.stop(cloud().place.region, { instance_id, force }, signal())

  it('may not know a young machine, and knows it soon', async () => {
    const { instance_id, state } = await launch('token-1')
    expect(state).toBe('pending')
    const { compute, place } = cloud()
    const young = await compute.describe(place.region, [instance_id], signal())
    expect([...young.missing, ...young.found.map(instance => instance.instance_id)]).toEqual([instance_id])
    await cloud().advance(5 * SECOND)
    expect((await look(instance_id)).state).toBe('pending')
  })

  it('refuses what the state of a machine forbids', async () => {
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
    expect((await look(instance_id)).state).toBe('stopped')
  })

  it('shows a dead machine for a while and then no more', async () => {
    const { instance_id } = await launchRunning('token-1')
    const { compute, place } = cloud()
    await compute.terminate(place.region, instance_id, signal())
    await cloud().advance(30 * MINUTE)
    expect(await compute.list(place.region, { client_token: 'token-1' }, signal())).toHaveLength(1)
    await cloud().advance(60 * MINUTE)
    expect(await compute.list(place.region, { client_token: 'token-1' }, signal())).toEqual([])
    expect((await compute.describe(place.region, [instance_id], signal())).missing).toEqual([instance_id])
  })
}

function offerings({ cloud, launch }: World): void {
  it('calls a type that the zone does not have a matter of capacity', async () => {
    await expect(launch('token-1', cloud().place.not_offered)).rejects.toEqual(failsAs('capacity'))
  })

  it('refuses nested virtualization where the type lacks it, and unknown types', async () => {
    await expect(launch('token-1', { nested_virtualization: true })).rejects.toEqual(failsAs('invalid'))
    await expect(launch('token-2', { instance_type: 'x0.nano' })).rejects.toEqual(failsAs('invalid'))
  })
}

function givingUp({ cloud, request }: World): void {
  it('does nothing once its signal has aborted', async () => {
    const { compute, place } = cloud()
    const aborted = AbortSignal.abort()
    const wanted = await request('token-1')
    await expect(compute.launch(place.region, wanted, aborted)).rejects.toEqual(failsAs('transient'))
    await expect(compute.list(place.region, { client_token: 'token-1' }, aborted)).rejects.toEqual(failsAs('transient'))
    await cloud().advance(MINUTE)
    expect(await compute.list(place.region, { client_token: 'token-1' }, signal())).toEqual([])
  })
}
