import type { DescribeInstancesCommandInput, Instance as Ec2Instance } from '@aws-sdk/client-ec2'
import { awsFilters } from '@lcm/cloud/aws-filters'
import { type DescribeResult, IDS_PER_CALL, type InstanceFilter, LISTED_PER_CALL } from '@lcm/cloud/compute'
import { chunks } from '@lcm/cloud/compute-wrappers/power-each'
import type { Instance } from '@lcm/domain/worker/instance'
import { malformedResponse } from '../cloud-call.ts'
import type { Ec2Call } from './clients.ts'
import { toInstance } from './instance.ts'
import { allPages } from './pages.ts'

/** Parsing a page of 200 blocks the event loop for about 40 ms; larger pages would hold up lease renewals. */
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
