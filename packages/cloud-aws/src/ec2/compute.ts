import {
  CreateTagsCommand,
  DescribeImagesCommand,
  type DescribeImagesCommandInput,
  DescribeInstancesCommand,
  type DescribeInstancesCommandInput,
  type Image as Ec2Image,
  type Instance as Ec2Instance,
  type InstanceStateChange,
  RunInstancesCommand,
  type RunInstancesCommandInput,
  StartInstancesCommand,
  StopInstancesCommand,
  type Tag,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2'
import { awsFilters } from '@lcm/cloud/aws-filters'
import { attemptSpent } from '@lcm/cloud/classify-aws-errors'
import {
  type Compute,
  type DescribeResult,
  IDS_PER_CALL,
  type Image,
  type ImageQuery,
  type InstanceFilter,
  type LaunchRequest,
  LISTED_PER_CALL,
  type PowerAction,
  type PowerStates,
} from '@lcm/cloud/compute'
import { chunks } from '@lcm/cloud/compute-wrappers/batched-compute'
import { isDead } from '@lcm/domain/worker/cml-endpoint'
import type { Instance } from '@lcm/domain/worker/ec2-instance'
import { type AwsOptions, type Ec2Call, type Ec2Clients, ec2Clients } from '../aws-clients.ts'
import { allPages, cloudCall, malformedResponse } from '../cloud-call.ts'

export type { AwsCall, AwsCredentials, AwsOptions } from '../aws-clients.ts'

/** A listing may take several pages with retries. A change is one attempt, a little longer than its own timeouts. */
const DEADLINES_MS = { read: 60_000, mutate: 20_000 } as const

/** The compute port on EC2. Regions are contacted on first use. */
export function awsCompute(options: AwsOptions): Compute & { close(): void } {
  const clients = ec2Clients(options)
  const calling =
    (kind: keyof Ec2Clients, action: string) =>
    <Answer>(region: string, signal: AbortSignal, call: (ec2: Ec2Call) => Promise<Answer>): Promise<Answer> =>
      cloudCall(action, { clock: options.clock, deadlineMs: DEADLINES_MS[kind], signals: [signal] }, until =>
        call({ client: clients.in(region)[kind], signal: until }),
      )
  const describing = calling('read', 'DescribeInstances')
  const imaging = calling('read', 'DescribeImages')
  const launching = calling('mutate', 'RunInstances')
  const tagging = calling('mutate', 'CreateTags')
  return {
    list: (region, filter, signal) => describing(region, signal, ec2 => listInstances(ec2, filter)),
    describe: (region, ids, signal) => describing(region, signal, ec2 => describeInstances(ec2, ids)),
    newestImage: (region, wanted, signal) => imaging(region, signal, ec2 => newestImage(ec2, wanted)),
    imageIds: (region, pattern, signal) => imaging(region, signal, ec2 => imageIds(ec2, pattern)),
    launch: (region, request, signal) => launching(region, signal, ec2 => launch(ec2, request)),
    power: (region, act, ids, signal) =>
      calling('mutate', POWER_ACTIONS[act])(region, signal, ec2 => powerInstances(ec2, act, ids)),
    tag: (region, id, tags, signal) => tagging(region, signal, ec2 => tagInstance(ec2, id, tags)),
    close: clients.close,
  }
}

async function launch({ client, signal }: Ec2Call, request: LaunchRequest): Promise<Instance> {
  const answer = await client.send(new RunInstancesCommand(runInput(request)), { abortSignal: signal })
  const raw = answer.Instances?.[0]
  if (!raw) throw malformedResponse('RunInstances', 'an answer without an instance')
  const instance = toInstance('RunInstances', raw)
  if (isDead(instance)) throw attemptSpent(instance)
  return instance
}

async function tagInstance({ client, signal }: Ec2Call, id: string, tags: Readonly<Record<string, string>>) {
  const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }))
  await client.send(new CreateTagsCommand({ Resources: [id], Tags }), { abortSignal: signal })
}

/** Without the owner, a public image of another account with that name could win. */
export async function newestImage(ec2: Ec2Call, wanted: ImageQuery): Promise<Image | null> {
  const pages = imagesOf(ec2, {
    Owners: [wanted.owner],
    IncludeDeprecated: false,
    Filters: [
      { Name: 'name', Values: [wanted.name_pattern] },
      { Name: 'state', Values: ['available'] },
    ],
  })
  let newest: Image | null = null
  for await (const raw of pages) {
    const image = toImage(raw)
    if (image && (!newest || isNewer(image, newest))) newest = image
  }
  return newest
}

function toImage(raw: Ec2Image): Image | null {
  const { ImageId, Name, CreationDate, State, RootDeviceName } = raw
  if (!ImageId || !CreationDate || !RootDeviceName || State !== 'available') return null
  return { image_id: ImageId, name: Name ?? '', created_at: CreationDate, root_device: RootDeviceName }
}

const isNewer = (a: Image, b: Image) =>
  a.created_at === b.created_at ? a.image_id > b.image_id : a.created_at > b.created_at

async function imageIds(ec2: Ec2Call, namePattern: string): Promise<readonly string[]> {
  const ids = new Set<string>()
  const named = { IncludeDeprecated: true, Filters: [{ Name: 'name', Values: [namePattern] }] }
  for await (const { ImageId } of imagesOf(ec2, named)) if (ImageId) ids.add(ImageId)
  return [...ids]
}

const imagesOf = (ec2: Ec2Call, input: DescribeImagesCommandInput) =>
  allPages('DescribeImages', async NextToken => {
    const page = { ...input, MaxResults: LISTED_PER_CALL, ...(NextToken ? { NextToken } : {}) }
    const answer = await ec2.client.send(new DescribeImagesCommand(page), { abortSignal: ec2.signal })
    return { items: answer.Images, next: answer.NextToken }
  })

const POWER_ACTIONS: Readonly<Record<PowerAction, string>> = {
  start: 'StartInstances',
  stop: 'StopInstances',
  force_stop: 'StopInstances',
  terminate: 'TerminateInstances',
}

/** Success depends on the state of each machine in the response, never on the status code alone. */
async function powerInstances(ec2: Ec2Call, act: PowerAction, ids: readonly string[]): Promise<PowerStates> {
  const changes = await changesOf(ec2, act, ids)
  if (!Array.isArray(changes)) throw malformedResponse(POWER_ACTIONS[act], 'an answer without a list')
  return new Map(
    changes.flatMap(({ InstanceId, CurrentState }) =>
      InstanceId && CurrentState?.Name ? [[InstanceId, CurrentState.Name] as const] : [],
    ),
  )
}

async function changesOf(
  { client, signal }: Ec2Call,
  act: PowerAction,
  ids: readonly string[],
): Promise<InstanceStateChange[] | undefined> {
  const InstanceIds = [...ids]
  const until = { abortSignal: signal }
  switch (act) {
    case 'start':
      return (await client.send(new StartInstancesCommand({ InstanceIds }), until)).StartingInstances
    case 'stop':
      return (await client.send(new StopInstancesCommand({ InstanceIds }), until)).StoppingInstances
    case 'force_stop':
      return (await client.send(new StopInstancesCommand({ InstanceIds, Force: true }), until)).StoppingInstances
    case 'terminate':
      return (await client.send(new TerminateInstancesCommand({ InstanceIds }), until)).TerminatingInstances
  }
}

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

function toInstance(action: string, instance: Ec2Instance): Instance {
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

async function listInstances(ec2: Ec2Call, filter: InstanceFilter): Promise<readonly Instance[]> {
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
    const command = new DescribeInstancesCommand({ ...input, ...(NextToken ? { NextToken } : {}) })
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

async function describeInstances(ec2: Ec2Call, ids: readonly string[]): Promise<DescribeResult> {
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
