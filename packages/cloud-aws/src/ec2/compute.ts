import type { DescribeImagesCommandInput, Image as Ec2Image, InstanceStateChange } from '@aws-sdk/client-ec2'
import { throwIfTerminated } from '@lcm/cloud/aws-errors'
import {
  type Compute,
  type Image,
  type ImageQuery,
  type LaunchRequest,
  LISTED_PER_CALL,
  type PowerAction,
  type PowerStates,
} from '@lcm/cloud/compute'
import type { Instance } from '@lcm/domain/worker/instance'
import { type AwsOptions, type Ec2Call, type Ec2Clients, ec2Clients, ec2Sdk } from '../aws-clients.ts'
import { allPages, cloudCall, malformedResponse } from '../cloud-call.ts'
import { describeInstances, listInstances, runInput, toInstance } from './instance.ts'

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
        call({ client: clients.in(region)[kind], sdk: ec2Sdk(), signal: until }),
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

async function launch({ client, sdk, signal }: Ec2Call, request: LaunchRequest): Promise<Instance> {
  const answer = await client.send(new sdk.RunInstancesCommand(runInput(request)), { abortSignal: signal })
  const raw = answer.Instances?.[0]
  if (!raw) throw malformedResponse('RunInstances', 'an answer without an instance')
  const instance = toInstance('RunInstances', raw)
  throwIfTerminated(instance)
  return instance
}

async function tagInstance({ client, sdk, signal }: Ec2Call, id: string, tags: Readonly<Record<string, string>>) {
  const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }))
  await client.send(new sdk.CreateTagsCommand({ Resources: [id], Tags }), { abortSignal: signal })
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
    const answer = await ec2.client.send(new ec2.sdk.DescribeImagesCommand(page), { abortSignal: ec2.signal })
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
  { client, sdk, signal }: Ec2Call,
  act: PowerAction,
  ids: readonly string[],
): Promise<InstanceStateChange[] | undefined> {
  const InstanceIds = [...ids]
  const until = { abortSignal: signal }
  switch (act) {
    case 'start':
      return (await client.send(new sdk.StartInstancesCommand({ InstanceIds }), until)).StartingInstances
    case 'stop':
      return (await client.send(new sdk.StopInstancesCommand({ InstanceIds }), until)).StoppingInstances
    case 'force_stop':
      return (await client.send(new sdk.StopInstancesCommand({ InstanceIds, Force: true }), until)).StoppingInstances
    case 'terminate':
      return (await client.send(new sdk.TerminateInstancesCommand({ InstanceIds }), until)).TerminatingInstances
  }
}
