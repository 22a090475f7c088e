import type {
  DescribeInstancesCommandInput,
  Instance as Ec2Instance,
  RunInstancesCommandInput,
  Tag,
} from '@aws-sdk/client-ec2'
import { awsFilters } from '@lcm/cloud/aws-filters'
import {
  type DescribeResult,
  IDS_PER_CALL,
  type InstanceFilter,
  type LaunchRequest,
  LISTED_PER_CALL,
} from '@lcm/cloud/compute'
import { chunks } from '@lcm/cloud/compute-wrappers/batched-compute'
import type { Instance } from '@lcm/domain/worker/instance'
import type { Ec2Call } from '../aws-clients.ts'
import { allPages, malformedResponse } from '../cloud-call.ts'

const METADATA_HOPS = 2

/** Byte-identical for the same launch: EC2 compares the parameters when a token is repeated. */
export function runInput({ client_token, parameters, user_data }: LaunchRequest): RunInstancesCommandInput {
  const tags = tagList(parameters.tags)
  return {
    MinCount: 1,
    MaxCount: 1,
    ClientToken: client_token,
    ImageId: parameters.image_id,
    InstanceType: instanceType(parameters.instance_type),
    ...networkOf(parameters),
    ...(parameters.key_name === null ? {} : { KeyName: parameters.key_name }),
    ...(parameters.iam_instance_profile === null
      ? {}
      : { IamInstanceProfile: profile(parameters.iam_instance_profile) }),
    BlockDeviceMappings: [
      {
        DeviceName: parameters.root_device,
        Ebs: {
          VolumeSize: parameters.root_volume_gb,
          VolumeType: 'gp3',
          Encrypted: parameters.volume_encrypted,
          DeleteOnTermination: true,
        },
      },
    ],
    MetadataOptions: { HttpEndpoint: 'enabled', HttpTokens: 'required', HttpPutResponseHopLimit: METADATA_HOPS },
    InstanceInitiatedShutdownBehavior: 'stop',
    ...(user_data === null ? {} : { UserData: Buffer.from(user_data).toString('base64') }),
    ...(parameters.nested_virtualization ? { CpuOptions: { NestedVirtualization: 'enabled' } } : {}),
    TagSpecifications: [
      { ResourceType: 'instance', Tags: tags },
      { ResourceType: 'volume', Tags: tags },
    ],
  }
}

/**
 * The subnet stays at the top level, where it makes the token zonal, unless the address option is set: that option
 * belongs to the interface, and EC2 accepts a subnet in only one of the two places.
 */
function networkOf({
  subnet_id,
  security_group_ids,
  associate_public_ip,
}: LaunchRequest['parameters']): Partial<RunInstancesCommandInput> {
  if (associate_public_ip === null) return { SubnetId: subnet_id, SecurityGroupIds: security_group_ids }
  const addressed = { DeviceIndex: 0, AssociatePublicIpAddress: associate_public_ip, DeleteOnTermination: true }
  return { NetworkInterfaces: [{ ...addressed, SubnetId: subnet_id, Groups: security_group_ids }] }
}

/** The SDK lists the types of its release; EC2 decides which exist. */
const instanceType = (name: string) => name as NonNullable<RunInstancesCommandInput['InstanceType']>

const profile = (nameOrArn: string) => (nameOrArn.startsWith('arn:') ? { Arn: nameOrArn } : { Name: nameOrArn })

const tagList = (tags: Readonly<Record<string, string>>): Tag[] =>
  Object.entries(tags)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([Key, Value]) => ({ Key, Value }))

const INSTANCE_ID = /^i-[0-9a-f]+$/

export function toInstance(action: string, instance: Ec2Instance): Instance {
  const { InstanceId, State } = instance
  if (!InstanceId || !State?.Name) throw malformedResponse(action, 'an instance without an id or a state')
  if (!INSTANCE_ID.test(InstanceId)) throw malformedResponse(action, 'an instance with an id that is none')
  return {
    instance_id: InstanceId,
    state: State.Name,
    state_reason: instance.StateReason?.Code || null,
    instance_type: instance.InstanceType ?? '',
    image_id: instance.ImageId ?? '',
    availability_zone: instance.Placement?.AvailabilityZone ?? '',
    public_ip: instance.PublicIpAddress ?? null,
    private_ip: instance.PrivateIpAddress ?? null,
    public_dns: instance.PublicDnsName || null,
    private_dns: instance.PrivateDnsName || null,
    launched_at: (instance.LaunchTime ?? new Date(0)).toISOString(),
    client_token: instance.ClientToken || null,
    tags: Object.fromEntries((instance.Tags ?? []).map(tag => [tag.Key ?? '', tag.Value ?? ''])),
  }
}

/** Parsing a page of 200 blocks the event loop for about 40 ms; larger pages would delay lease renewals. */
const PAGE_SIZE = LISTED_PER_CALL

export async function listInstances(ec2: Ec2Call, filter: InstanceFilter): Promise<readonly Instance[]> {
  const found = new Map<string, Instance>()
  for (const filters of awsFilters(filter)) {
    const Filters = filters.map(({ name, values }) => ({ Name: name, Values: [...values] }))
    for (const instance of await instancesOf(ec2, { Filters, MaxResults: PAGE_SIZE }))
      found.set(instance.instance_id, instance)
  }
  return [...found.values()]
}

async function instancesOf(ec2: Ec2Call, input: DescribeInstancesCommandInput): Promise<readonly Instance[]> {
  const found = new Map<string, Instance>()
  const pages = allPages('DescribeInstances', async NextToken => {
    const command = new ec2.sdk.DescribeInstancesCommand({ ...input, ...(NextToken ? { NextToken } : {}) })
    const answer = await ec2.client.send(command, { abortSignal: ec2.signal })
    return { items: answer.Reservations, next: answer.NextToken }
  })
  for await (const reservation of pages) {
    for (const raw of machinesOf(reservation.Instances)) {
      const instance = toInstance('DescribeInstances', raw)
      found.set(instance.instance_id, instance)
    }
  }
  return [...found.values()]
}

function machinesOf(instances: Ec2Instance[] | undefined): Ec2Instance[] {
  if (!Array.isArray(instances))
    throw malformedResponse('DescribeInstances', 'a reservation without a list of instances')
  return instances
}

export async function describeInstances(ec2: Ec2Call, ids: readonly string[]): Promise<DescribeResult> {
  const wanted = [...new Set(ids)]
  const known = new Map<string, Instance>()
  for (const batch of chunks(wanted, IDS_PER_CALL.describe)) {
    for (const instance of await knownAmong(ec2, batch)) known.set(instance.instance_id, instance)
  }
  return { found: wanted.flatMap(id => known.get(id) ?? []), missing: wanted.filter(id => !known.has(id)) }
}

/**
 * One unknown id fails the whole batch: the ids that EC2 names are left out, and if it names none, the batch is split
 * in halves.
 */
async function knownAmong(ec2: Ec2Call, ids: readonly string[]): Promise<readonly Instance[]> {
  if (ids.length === 0) return []
  try {
    return await instancesOf(ec2, { InstanceIds: [...ids] })
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'InvalidInstanceID.NotFound') throw error
    const rest = withoutNamed(ids, error.message)
    if (rest.length < ids.length) return knownAmong(ec2, rest)
    if (ids.length === 1) return []
    const half = Math.ceil(ids.length / 2)
    return [...(await knownAmong(ec2, ids.slice(0, half))), ...(await knownAmong(ec2, ids.slice(half)))]
  }
}

function withoutNamed(ids: readonly string[], message: string): readonly string[] {
  const named = new Set(message.match(/i-[0-9a-f]+/g) ?? [])
  return ids.filter(id => !named.has(id))
}
