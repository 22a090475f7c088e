import type { Instance, LaunchParameters } from '@lcm/domain/worker/ec2-instance'
import { afterEach, beforeEach, expect } from 'vitest'
import type { Compute, Image, ImageQuery, LaunchRequest } from '../compute.ts'
import type { CloudErrorClass } from '../errors.ts'

/** A fresh cloud for one test. */
export interface OpenCompute {
  readonly compute: Compute
  readonly place: ComputeSetup
  /** Advances the cloud's time. */
  advance(ms: number): Promise<void>
  /** Launches that many machines at once, without the port. */
  plant(count: number, tags: Readonly<Record<string, string>>): Promise<void>
  close(): Promise<void>
}

export interface ComputeSetup {
  readonly region: string
  readonly other_region: string
  readonly subnet_id: string
  /** In another zone of the same region. */
  readonly other_subnet_id: string
  readonly instance_type: string
  /** A type with a subnet whose zone does not offer it. */
  readonly not_offered: { readonly instance_type: string; readonly subnet_id: string }
  /** Must match older images of the owner, newer ones of others and a newer one that is not available. */
  readonly images: ImageQuery
  readonly newest_image: Pick<Image, 'name' | 'created_at'>
}

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const UNKNOWN_ID = 'i-0123456789abcdef0'

export type ComputeFixture = ReturnType<typeof computeFixture>

export function computeFixture(open: () => Promise<OpenCompute>) {
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
    user_data: null,
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
    read: (instanceId: string): Promise<Instance> => found(cloud(), instanceId),
  }
}

export const signal = () => new AbortController().signal

async function launchParameters({ compute, place }: OpenCompute): Promise<LaunchParameters> {
  const image = await compute.newestImage(place.region, place.images, signal())
  return {
    image_id: image?.image_id ?? '',
    instance_type: place.instance_type,
    subnet_id: place.subnet_id,
    associate_public_ip: null,
    security_group_ids: [],
    key_name: null,
    root_device: '/dev/sda1',
    root_volume_gb: 64,
    volume_encrypted: false,
    iam_instance_profile: null,
    nested_virtualization: false,
    user_data_ref: null,
    tags: { Name: 'a worker', 'lcm:worker_id': 'w-1', 'lcm:fleet': 'conformance' },
  }
}

async function found({ compute, place }: OpenCompute, instanceId: string): Promise<Instance> {
  const answer = await compute.describe(place.region, [instanceId], signal())
  const instance = answer.found[0]
  if (!instance) throw new Error(`${instanceId} is missing`)
  return instance
}

export const failsAs = (errorClass: CloudErrorClass) => expect.objectContaining({ name: 'CloudError', errorClass })
