import { GetMetricDataCommand } from '@aws-sdk/client-cloudwatch'
import {
  CreateTagsCommand,
  DescribeInstancesCommand,
  RunInstancesCommand,
  StartInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2'
import type { Image, ImageQuery } from '@lcm/cloud/compute'
import { CloudError } from '@lcm/cloud/errors'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import { type AwsCredentials, type AwsOptions, cloudWatchClients, type Ec2Call, ec2Clients } from './aws-clients.ts'
import { type Caller, callerIdentity } from './caller-identity.ts'
import { cloudCall } from './cloud-call.ts'
import { newestImage, runInput } from './ec2/compute.ts'
import type { IamActionName } from './iam-actions.ts'

/** A region, and the parameters of a launch there. */
export interface CheckedRegion {
  readonly region: string
  readonly subnet_id: string
  readonly security_group_ids: readonly string[]
  readonly key_name: string | null
}

/** The part of a template that decides which permissions a launch needs. */
export interface CheckedLaunch {
  readonly image: ImageQuery
  readonly instance_type: string
  readonly iam_instance_profile: string | null
}

export interface AccountCheckOptions extends AwsOptions {
  readonly regions: readonly [CheckedRegion, ...CheckedRegion[]]
  /** Null tests without an image, which AWS may not evaluate. */
  readonly launch: CheckedLaunch | null
  /** Fleet whose machines are tested and whose tag a launch would have; null when unknown. */
  readonly fleet: string | null
  /** Deadline of one call. */
  readonly deadlineMs: number
  readonly fetch: typeof globalThis.fetch
  readonly signal: AbortSignal
}

/**
 * - granted: AWS would have done it
 * - denied: AWS knows us and says that we may not
 * - rejected: AWS does not take our credentials at all
 * - inconclusive: the answer says nothing about rights
 */
export type Verdict = 'granted' | 'denied' | 'rejected' | 'inconclusive'

export interface ActionCheck {
  readonly region: string
  readonly action: IamActionName
  readonly verdict: Verdict
  /** AWS's message; empty when granted. */
  readonly details: string
}

export interface AccountCheck {
  /** Null if credentials were found, else why not. */
  readonly credentialsError: string | null
  readonly caller: Caller | null
  /** Why the caller's identity could not be read; null if it was. */
  readonly callerError: string | null
  readonly actions: readonly ActionCheck[]
}

const NOTHING_TRIED = { caller: null, callerError: null, actions: [] }

/** Tests every permission that LCM needs by reads and dry runs: nothing is changed and nothing is bought. */
export async function checkAccount(options: AccountCheckOptions): Promise<AccountCheck> {
  const credentials = await credentialsOf(options).catch(whyNone)
  if (typeof credentials === 'string') return { ...NOTHING_TRIED, credentialsError: credentials }
  const [caller, actions] = await Promise.all([
    identified(options, credentials),
    Promise.all(options.regions.map(region => triedIn({ ...options, credentials }, region))),
  ])
  return {
    credentialsError: null,
    caller: typeof caller === 'string' ? null : caller,
    callerError: typeof caller === 'string' ? caller : null,
    actions: actions.flat(),
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? (error.message.split('\n')[0] ?? error.name) : String(error)

const whyNone = (error: unknown): string => messageOf(error).replace(/^credentials: (CredentialsProviderError: )?/, '')

type Limits = Pick<AccountCheckOptions, 'clock' | 'deadlineMs' | 'signal'>
const limitsOf = ({ clock, deadlineMs, signal }: Limits) => ({ clock, deadlineMs, signals: [signal] })

/** Why this process has no AWS credentials; null if it has. They may still be wrong. */
export const missingCredentials = (limits: Limits): Promise<string | null> =>
  credentialsOf(limits).then(() => null, whyNone)

function credentialsOf(options: Limits & Pick<AwsOptions, 'credentials'>): Promise<AwsCredentials> {
  if (options.credentials !== undefined) return Promise.resolve(options.credentials)
  return cloudCall('credentials', limitsOf(options), async () => {
    const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
    return defaultProvider()()
  })
}

function identified(options: AccountCheckOptions, credentials: AwsCredentials): Promise<Caller | string> {
  const { regions, endpoint = null, clock, fetch } = options
  const [{ region }] = regions
  return cloudCall('GetCallerIdentity', limitsOf(options), signal =>
    callerIdentity({ credentials, region, endpoint, nowMs: clock.now(), fetch, signal }),
  ).catch(messageOf)
}

/** A nonexistent machine. EC2 usually checks permissions before it searches for the machine. */
const MISSING_MACHINE = 'i-00000000000000000'

async function triedIn(options: AccountCheckOptions, place: CheckedRegion): Promise<ActionCheck[]> {
  const { region } = place
  const clients = ec2Clients(options)
  const attempt = async (action: IamActionName, call: (ec2: Ec2Call) => Promise<unknown>): Promise<ActionCheck> => {
    const client = clients.in(region).mutate
    const trying = cloudCall(action, limitsOf(options), signal => call({ client, signal }))
    return { region, action, ...(await verdictOf(trying)) }
  }
  let ours = MISSING_MACHINE
  let image: Image | null = null
  const reads = await Promise.all([
    attempt('ec2:DescribeInstances', async ec2 => {
      ours = (await anyMachine(ec2, options.fleet)) ?? MISSING_MACHINE
    }),
    attempt('ec2:DescribeImages', async ec2 => {
      image = await newestImage(ec2, options.launch?.image ?? { name_pattern: 'cml-*', owner: 'self' })
    }),
    triedMetrics(options, region),
  ])
  const InstanceIds = [ours]
  const onOurs: Attempt = async (action, call) => doubted(await attempt(action, call), ours === MISSING_MACHINE)
  const tags = { Resources: [ours], Tags: [{ Key: TAG.name, Value: 'lcm-doctor' }] }
  const [launch, rename, ...changes] = await Promise.all([
    triedLaunch(attempt, { options, place, image }),
    onOurs('ec2:CreateTags', ({ client, signal: abortSignal }) =>
      client.send(new CreateTagsCommand({ ...tags, DryRun: true }), { abortSignal }),
    ),
    onOurs('ec2:StartInstances', ({ client, signal: abortSignal }) =>
      client.send(new StartInstancesCommand({ InstanceIds, DryRun: true }), { abortSignal }),
    ),
    onOurs('ec2:StopInstances', ({ client, signal: abortSignal }) =>
      client.send(new StopInstancesCommand({ InstanceIds, DryRun: true }), { abortSignal }),
    ),
    onOurs('ec2:TerminateInstances', ({ client, signal: abortSignal }) =>
      client.send(new TerminateInstancesCommand({ InstanceIds, DryRun: true }), { abortSignal }),
    ),
  ])
  clients.close()
  return [...reads, ...launch.map(each => withRename(each, rename)), ...changes]
}

/** One permission for two actions: tagging at launch, and renaming later. A policy may allow only the first. */
const withRename = (launched: ActionCheck, rename: ActionCheck): ActionCheck =>
  launched.action === rename.action && launched.verdict === 'granted' && rename.verdict === 'denied' ? rename : launched

/** A policy limited to the fleet's own machines correctly denies changes of a nonexistent one. */
const doubted = (tried: ActionCheck, isMissing: boolean): ActionCheck =>
  tried.verdict === 'denied' && isMissing ? { ...tried, verdict: 'inconclusive', details: NO_MACHINE } : tried

const DEAD: ReadonlySet<string> = new Set(['shutting-down', 'terminated'])
const NO_MACHINE = 'the fleet has no machine there to try it on'

/** A policy may allow changes only of the fleet's own machines, so one of those is tested if there is one. */
async function anyMachine({ client, signal: abortSignal }: Ec2Call, fleet: string | null): Promise<string | undefined> {
  const mark = fleet === null ? { Name: 'tag-key', Values: [TAG.fleet] } : { Name: `tag:${TAG.fleet}`, Values: [fleet] }
  const ours = { Filters: [mark], MaxResults: 100 }
  const { Reservations = [] } = await client.send(new DescribeInstancesCommand(ours), { abortSignal })
  const machines = Reservations.flatMap(({ Instances = [] }) => Instances)
  return machines.find(({ State }) => !DEAD.has(State?.Name ?? ''))?.InstanceId
}

const NO_IMAGE: Image = { image_id: 'ami-00000000000000000', name: '', created_at: '', root_device: '/dev/sda1' }

interface Launch {
  readonly options: AccountCheckOptions
  readonly place: CheckedRegion
  readonly image: Image | null
}
type Attempt = (action: IamActionName, call: (ec2: Ec2Call) => Promise<unknown>) => Promise<ActionCheck>

/** A launch with its tags; if that is denied, another one without them, to find the missing permission. */
async function triedLaunch(attempt: Attempt, launch: Launch): Promise<ActionCheck[]> {
  const input = launchInput(launch)
  const run = (more: object) =>
    attempt('ec2:RunInstances', ({ client, signal: abortSignal }) =>
      client.send(new RunInstancesCommand({ ...input, ...more, DryRun: true }), { abortSignal }),
    )
  const whole = await run({})
  const tags: ActionCheck = { ...whole, action: 'ec2:CreateTags' }
  if (whole.verdict !== 'denied') return [whole, tags]
  const named = namedIn(whole.details)
  if (named !== null && named !== 'ec2:RunInstances')
    return [
      { ...whole, action: named },
      ...(named === tags.action ? [] : [{ ...tags, verdict: 'inconclusive' as const }]),
    ]
  const bare = await run({ TagSpecifications: [] })
  if (bare.verdict === 'granted') return [bare, tags]
  return [whole, { ...tags, verdict: 'inconclusive', details: 'it is judged once launches are allowed' }]
}

function launchInput({ options, place, image }: Launch) {
  const { launch, clock } = options
  return runInput({
    client_token: `lcm-doctor-${clock.now()}`,
    user_data: null,
    parameters: {
      image_id: (image ?? NO_IMAGE).image_id,
      root_device: (image ?? NO_IMAGE).root_device,
      instance_type: launch?.instance_type ?? 'm5zn.metal',
      iam_instance_profile: launch?.iam_instance_profile ?? null,
      subnet_id: place.subnet_id,
      security_group_ids: [...place.security_group_ids],
      key_name: place.key_name,
      associate_public_ip: null,
      root_volume_gb: 64,
      volume_encrypted: true,
      nested_virtualization: false,
      user_data_ref: null,
      tags: { [TAG.name]: 'lcm-doctor', [TAG.fleet]: options.fleet ?? 'lcm-doctor' },
    },
  })
}

const DENIABLE: readonly IamActionName[] = ['ec2:RunInstances', 'ec2:CreateTags', 'iam:PassRole']

/** The permission that AWS reports as missing: a launch needs several. */
const namedIn = (details: string): IamActionName | null =>
  DENIABLE.find(action => details.includes(`perform: ${action}`)) ?? null

const HOUR_MS = 3_600_000

async function triedMetrics(options: AccountCheckOptions, region: string): Promise<ActionCheck> {
  const clients = cloudWatchClients(options)
  const endMs = options.clock.now()
  const metric = {
    Namespace: 'AWS/EC2',
    MetricName: 'CPUUtilization',
    Dimensions: [{ Name: 'InstanceId', Value: MISSING_MACHINE }],
  }
  const input = {
    MetricDataQueries: [{ Id: 'q0', MetricStat: { Metric: metric, Period: 300, Stat: 'Average' } }],
    StartTime: new Date(endMs - HOUR_MS),
    EndTime: new Date(endMs),
  }
  const trying = cloudCall('GetMetricData', limitsOf(options), abortSignal =>
    clients.in(region).send(new GetMetricDataCommand(input), { abortSignal }),
  )
  const verdict = await verdictOf(trying)
  clients.close()
  return { region, action: 'cloudwatch:GetMetricData', ...verdict }
}

const WOULD = 'DryRunOperation'
/** Other errors of class `auth` concern the credentials, not one permission. */
const DENIALS = /^(UnauthorizedOperation|AccessDenied.*|NotAuthorized.*|Forbidden)$/

async function verdictOf(trying: Promise<unknown>): Promise<Pick<ActionCheck, 'verdict' | 'details'>> {
  try {
    await trying
    return { verdict: 'granted', details: '' }
  } catch (error) {
    if (!(error instanceof CloudError)) throw error
    if (error.code === WOULD) return { verdict: 'granted', details: '' }
    const details = error.message.replace(`${error.action}: `, '')
    if (DENIALS.test(error.code)) return { verdict: 'denied', details }
    return { verdict: error.errorClass === 'auth' ? 'rejected' : 'inconclusive', details }
  }
}
