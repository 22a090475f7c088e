import type {
  DescribeImagesCommandInput,
  DescribeInstancesCommandInput,
  EC2Client,
  Image as Ec2Image,
  Instance as Ec2Instance,
} from '@aws-sdk/client-ec2'
import { awsFilters } from '@lcm/cloud/aws-filters'
import type { DescribeResult, Image, ImageQuery, InstanceFilter } from '@lcm/cloud/compute'
import type { Instance } from '@lcm/domain/worker/instance'
import { toInstance } from './aws-instance.ts'
import { unreadable } from './cloud-call.ts'
import type { Sdk } from './ec2-clients.ts'

/** What a call needs: the client of its region, the SDK's commands, and when to stop. */
export interface Ec2Call {
  readonly client: EC2Client
  readonly sdk: Sdk
  readonly signal: AbortSignal
}

/** Parsing one page blocks the event loop for about 40 ms; larger pages would hold up lease renewals. */
const PAGE_SIZE = 200
const PAGES_MAX = 1000

export async function listInstances(ec2: Ec2Call, filter: InstanceFilter): Promise<readonly Instance[]> {
  const filters = awsFilters(filter).map(({ name, value }) => ({ Name: name, Values: [value] }))
  return instancesOf(ec2, { Filters: filters, MaxResults: PAGE_SIZE })
}

async function instancesOf(ec2: Ec2Call, input: DescribeInstancesCommandInput): Promise<readonly Instance[]> {
  const found = new Map<string, Instance>()
  const pages = everyPage('DescribeInstances', async NextToken => {
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
  if (!Array.isArray(instances)) throw unreadable('DescribeInstances', 'a reservation without a list of instances')
  return instances
}

interface AnsweredPage<Item> {
  readonly items: Item[] | undefined
  readonly next: string | undefined
}

/** An empty 200 parses to no list at all. Taking that for "none" would mean that every machine is gone. */
async function* everyPage<Item>(
  action: string,
  page: (nextToken: string | undefined) => Promise<AnsweredPage<Item>>,
): AsyncGenerator<Item> {
  let token: string | undefined
  for (let count = 0; count < PAGES_MAX; count++) {
    const { items, next } = await page(token)
    if (!Array.isArray(items)) throw unreadable(action, 'an answer without a list')
    yield* items
    if (!next) return
    if (next === token) throw unreadable(action, 'the same page token twice')
    token = next
  }
  throw unreadable(action, `more than ${PAGES_MAX} pages`)
}

export async function describeInstances(ec2: Ec2Call, ids: readonly string[]): Promise<DescribeResult> {
  const wanted = [...new Set(ids)]
  const known = new Map<string, Instance>()
  for (let from = 0; from < wanted.length; from += PAGE_SIZE) {
    const batch = await knownAmong(ec2, wanted.slice(from, from + PAGE_SIZE))
    for (const instance of batch) known.set(instance.instance_id, instance)
  }
  return { found: wanted.flatMap(id => known.get(id) ?? []), missing: wanted.filter(id => !known.has(id)) }
}

/** One unknown id fails the whole batch: first the ids that EC2 names are left out, and if it names none, halves are asked. */
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

/** Without the owner anybody's public image of that name could win. */
export async function newestImage(ec2: Ec2Call, wanted: ImageQuery): Promise<Image | null> {
  const input: DescribeImagesCommandInput = {
    Owners: [wanted.owner],
    IncludeDeprecated: false,
    Filters: [
      { Name: 'name', Values: [wanted.name_pattern] },
      { Name: 'state', Values: ['available'] },
    ],
    MaxResults: PAGE_SIZE,
  }
  const pages = everyPage('DescribeImages', async NextToken => {
    const command = new ec2.sdk.DescribeImagesCommand({ ...input, ...(NextToken ? { NextToken } : {}) })
    const answer = await ec2.client.send(command, { abortSignal: ec2.signal })
    return { items: answer.Images, next: answer.NextToken }
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
