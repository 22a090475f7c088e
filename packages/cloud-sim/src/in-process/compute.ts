import { awsFilters } from '@lcm/cloud/aws-filters'
import { attemptSpent, classifyAwsCode } from '@lcm/cloud/classify-aws-errors'
import type { Compute, DescribeResult, Image, LaunchRequest, PowerAction } from '@lcm/cloud/compute'
import { CloudError } from '@lcm/cloud/errors'
import { isDead } from '@lcm/domain/worker/cml-endpoint'
import type { Instance } from '@lcm/domain/worker/ec2-instance'
import type { Ec2 } from '../ec2/ec2.ts'
import type { Filter } from '../ec2/filters-and-paging.ts'
import type { MachineView } from '../ec2/instance.ts'
import type { StateChange } from '../ec2/power.ts'
import { Ec2Refusal } from '../ec2/refusal.ts'
import type { RunRequest } from '../ec2/run-instances.ts'
import type { SimModel } from '../sim-model.ts'

const EVERYTHING = { max_results: null, next_token: null } as const

/** The Compute port on the model, without sockets or timers: for the whole-system simulation. */
export function simCompute(model: SimModel): Compute {
  const ec2 = model.ec2Api
  return {
    list: (region, filter, signal) =>
      answered('DescribeInstances', signal, () => listed(ec2, region, awsFilters(filter))),
    describe: (region, ids, signal) => answered('DescribeInstances', signal, () => described(ec2, region, ids)),
    newestImage: (region, wanted, signal) =>
      answered('DescribeImages', signal, () => {
        const filters = [equal('name', wanted.name_pattern), equal('state', 'available')]
        const query = { image_ids: [], owners: [wanted.owner], filters, ...EVERYTHING }
        return newestOf(ec2.describeImages(region, query).items)
      }),
    imageIds: (region, pattern, signal) =>
      answered('DescribeImages', signal, () => {
        const query = { image_ids: [], owners: [], filters: [equal('name', pattern)], ...EVERYTHING }
        return ec2.describeImages(region, query).items.map(image => image.image_id)
      }),
    launch: (region, request, signal) => answered('RunInstances', signal, () => launched(ec2, region, request)),
    power: (region, act, ids, signal) =>
      answered(ACTION_OF[act], signal, () => statesOf(changed(ec2, region, act, ids))),
    tag: (region, id, tags, signal) =>
      answered('CreateTags', signal, () => ec2.createTags(region, { ids: [id], tags })),
  }
}

const ACTION_OF: Readonly<Record<PowerAction, string>> = {
  start: 'StartInstances',
  stop: 'StopInstances',
  force_stop: 'StopInstances',
  terminate: 'TerminateInstances',
}

function changed(ec2: Ec2, region: string, act: PowerAction, ids: readonly string[]): readonly StateChange[] {
  switch (act) {
    case 'start':
      return ec2.startInstances(region, { ids })
    case 'stop':
    case 'force_stop':
      return ec2.stopInstances(region, { ids, force: act === 'force_stop' })
    case 'terminate':
      return ec2.terminateInstances(region, { ids })
  }
}

const statesOf = (changes: readonly StateChange[]): ReadonlyMap<string, string> =>
  new Map(changes.map(change => [change.instance_id, change.current]))

async function answered<Answer>(action: string, signal: AbortSignal, act: () => Answer): Promise<Answer> {
  if (signal.aborted) throw new CloudError('transient', { code: 'AbortError', action, message: 'it was canceled' })
  try {
    return act()
  } catch (error) {
    if (!(error instanceof Ec2Refusal)) throw error
    const { code, status, message } = error
    throw new CloudError(classifyAwsCode(code, status), { code, action, message, cause: error })
  }
}

const equal = (name: string, value: string): Filter => ({ name, values: [value] })

function listed(ec2: Ec2, region: string, requests: readonly (readonly Filter[])[]): readonly Instance[] {
  const found = requests.flatMap(filters =>
    ec2.describeInstances(region, { instance_ids: [], filters, ...EVERYTHING }).items.map(instanceOf),
  )
  return [...new Map(found.map(instance => [instance.instance_id, instance])).values()]
}

/** One unknown id fails the whole batch, so the ids are then read one by one. */
function described(ec2: Ec2, region: string, ids: readonly string[]): DescribeResult {
  const wanted = [...new Set(ids)]
  const found = known(ec2, region, wanted) ?? wanted.flatMap(id => known(ec2, region, [id]) ?? [])
  const shown = new Set(found.map(instance => instance.instance_id))
  return { found, missing: wanted.filter(id => !shown.has(id)) }
}

function known(ec2: Ec2, region: string, ids: readonly string[]): readonly Instance[] | null {
  if (ids.length === 0) return []
  try {
    return ec2.describeInstances(region, { instance_ids: ids, filters: [], ...EVERYTHING }).items.map(instanceOf)
  } catch (error) {
    if (error instanceof Ec2Refusal && error.code === 'InvalidInstanceID.NotFound') return null
    throw error
  }
}

function newestOf(images: readonly Image[]): Image | null {
  const sorted = images.toSorted((a, b) => (`${a.created_at} ${a.image_id}` < `${b.created_at} ${b.image_id}` ? 1 : -1))
  const newest = sorted[0]
  if (!newest) return null
  const { image_id, name, created_at, root_device } = newest
  return { image_id, name, created_at, root_device }
}

function launched(ec2: Ec2, region: string, { client_token, parameters, user_data }: LaunchRequest): Instance {
  const request: RunRequest = {
    image_id: parameters.image_id,
    instance_type: parameters.instance_type,
    subnet_id: parameters.subnet_id,
    client_token,
    count: 1,
    nested_virtualization: parameters.nested_virtualization,
    has_public_address: parameters.associate_public_ip ?? true,
    tags: parameters.tags,
    canonical: JSON.stringify([canonicalOf(parameters), user_data]),
  }
  const machine = ec2.runInstances(region, request)[0]
  if (!machine) throw new Ec2Refusal('InternalError', 'a launch answered no machine', 500)
  const instance = instanceOf(machine)
  if (isDead(instance)) throw attemptSpent(instance)
  return instance
}

/** Tags are a set: their order isn't part of the launch. */
const canonicalOf = ({ tags, ...rest }: LaunchRequest['parameters']): string =>
  JSON.stringify([Object.entries(rest).sort(byKey), Object.entries(tags).sort(byKey)])

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1)

function instanceOf(view: MachineView): Instance {
  const { instance } = view
  return {
    instance_id: instance.instance_id,
    state: view.state,
    state_reason: view.state_reason?.code ?? null,
    instance_type: instance.instance_type,
    image_id: instance.image_id,
    availability_zone: instance.availability_zone,
    public_ip: view.public_ip,
    private_ip: view.private_ip,
    public_dns: null,
    private_dns: null,
    launched_at: new Date(instance.started_at_ms).toISOString(),
    client_token: instance.client_token,
    tags: view.tags,
  }
}
