import { type Client, unlessMissing } from '@lcm/client/client'
import type { CmlLoginResolver } from '@lcm/cloud/cml-login-resolver'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Image, ImageQuery } from '@lcm/cloud/compute'
import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import { CloudError } from '@lcm/cloud/errors'
import { reason } from '@lcm/domain/reason'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { type CmlAddress, endpointOf, factsOf, isDead, isEmpty } from '@lcm/domain/worker/cml-endpoint'
import { holdsLicense } from '@lcm/domain/worker/decision/license-operation'
import { type Instance, TAG } from '@lcm/domain/worker/ec2-instance'
import { isTrusted, needsApproval } from '@lcm/domain/worker/instance-trust'
import { statusOfEc2State } from '@lcm/domain/worker/lifecycle'
import type {
  CmlObservation,
  Ec2Observation,
  LaunchInputs,
  Observation,
  Unreadable,
  WorkerPolicy,
} from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { dependsOnLicense, readLicense } from './cml-license.ts'
import { type CmlProbes, readNodeDefinitions } from './cml-probes.ts'
import type { CmlRefusals } from './cml-refusals.ts'
import type { WorkerControllerConfig } from './config.ts'
import type { Ec2Outages } from './ec2-circuit-breaker.ts'
import type { RegionSnapshots } from './machine-list-cache.ts'
import type { ObservationMemory, WorkerMemory } from './term-memory.ts'

export interface ObserveParts {
  readonly machines: BatchedCompute
  readonly reads: Pick<Ec2Outages, 'unreadable'>
  readonly cml: CmlSystem
  readonly client: Client
  readonly clock: Clock
  readonly config: WorkerControllerConfig
  readonly logins: CmlLoginResolver
  readonly snapshots: RegionSnapshots
  readonly probes: Pick<CmlProbes, 'latest' | 'record'>
  readonly access: Pick<CmlRefusals, 'accessTo' | 'isOutdated' | 'forget'>
  readonly memory: WorkerMemory
}

/** Reads EC2, CML and the API. A cloud that does not answer is part of the observation; an API that does not is an error. */
export async function observe(
  parts: ObserveParts,
  worker: Worker,
  policy: WorkerPolicy,
  signal: AbortSignal,
): Promise<Observation> {
  const { clock, memory, access } = parts
  if (worker.license.unsettled !== 'deregister') memory.returnedLicenses.delete(worker.id)
  if (CML_DOWN.includes(worker.status)) {
    access.forget(worker.id)
    memory.cmlOutages.forget(worker.id)
  }
  const ec2 = await observeEc2(parts, worker, signal)
  const url = ec2.kind === 'instance' ? endpointOf(ec2.instance, policy.cmlAddress) : null
  const isBooted = !BEFORE_BOOT.includes(worker.status)
  return {
    ec2,
    cml: await observeCml(parts, worker, url, signal),
    ...(await observeInside(parts, worker, { policy, url }, signal)),
    isReturnHeard: memory.returnedLicenses.has(worker.id),
    launch: needsLaunch(worker) ? await launchInputs(parts, worker, signal) : null,
    isSurveyDue: memory.probes.isDue(worker, clock.monotonic()) || (isBooted && access.isOutdated(worker)),
    metricsSilentSince: memory.metrics.staleSince(worker, clock.now()),
    tagPauseMs: memory.tags.leftMs(worker, clock.monotonic()),
    access: isBooted ? access.accessTo(worker) : {},
    lostLabs: memory.observations.lostLabs(worker.id),
  }
}

/** No CML has answered for its machine yet, so nothing is known of its license and its access. */
const BEFORE_BOOT: readonly Worker['status'][] = ['PENDING', 'PROVISIONING']

/** CML does not run in these statuses, so earlier refusals are obsolete. */
const CML_DOWN: readonly Worker['status'][] = ['STOPPED', 'STARTING', 'FAILED']

/** Before an approval CML is asked only what it shows to everyone: once, and on request. */
const awaitsPublicFacts = (worker: Worker): boolean =>
  (worker.status === 'STARTING' || worker.status === 'RUNNING' || worker.status === 'FAILED') &&
  (worker.cml.seen_certificate_sha256 === null || worker.refresh_requested_at !== null)

/** While it starts, stops answering, needs its certificate pinned, or has a refresh request. */
const awaitsCml = (worker: Worker, memory: ObservationMemory): boolean =>
  worker.status === 'STARTING' ||
  ((worker.status === 'RUNNING' || worker.status === 'DRAINING') &&
    (worker.service_status !== 'AVAILABLE' ||
      worker.refresh_requested_at !== null ||
      worker.cml.certificate_sha256 === null ||
      memory.isSuspect(worker.id))) ||
  (worker.status === 'TERMINATING' && worker.cml.certificate_sha256 === null && holdsLicense(worker))

/** A failed worker without a machine is launched again when its template has changed. */
const needsLaunch = (worker: Worker): boolean =>
  worker.desired_status === 'RUNNING' &&
  ((worker.status === 'PENDING' && worker.launch?.state !== 'open') ||
    (worker.status === 'FAILED' && worker.ec2_instance_id === null))

async function observeEc2(parts: ObserveParts, worker: Worker, signal: AbortSignal): Promise<Ec2Observation> {
  if (worker.ec2_instance_id === null && worker.launch?.state !== 'open') {
    return { kind: 'absent', confirmed: true, because: reason('nothing_launched') }
  }
  if (worker.launch?.state === 'open' && parts.memory.launches.isUnsent(worker.id, worker.launch.client_token)) {
    // A desired attempt is about to be sent; an unwanted one has no machine to wait for.
    const confirmed = worker.desired_status !== 'RUNNING'
    return { kind: 'absent', confirmed, because: reason('attempt_not_sent', { attempt: worker.launch.n }) }
  }
  try {
    const instance = await findInstance(parts, worker, signal)
    if (instance === null) return parts.memory.observations.missed(worker, parts.clock)
    parts.memory.observations.found(worker.id)
    return { kind: 'instance', instance }
  } catch (error) {
    if (error instanceof CloudError) return { kind: 'unknown', ...parts.reads.unreadable(worker, 'instances', error) }
    throw error
  }
}

async function findInstance(parts: ObserveParts, worker: Worker, signal: AbortSignal): Promise<Instance | null> {
  const id = worker.ec2_instance_id
  if (id === null) return findLaunched(parts, worker, signal)
  if (isAtRest(worker)) {
    const listed = (await parts.snapshots.latest(worker.aws_region, signal)).get(id)
    if (listed && isAsRecorded(worker, listed, parts.config.policy.cmlAddress)) return listed
  }
  const found = await parts.machines.describeOne(worker.aws_region, id, signal)
  // Two kinds of reads must agree before a machine counts as missing.
  return found ?? (await parts.snapshots.latest(worker.aws_region, signal)).get(id) ?? null
}

const isAtRest = (worker: Worker): boolean =>
  worker.status === worker.desired_status &&
  worker.service_status !== 'STARTING' &&
  worker.refresh_requested_at === null &&
  !pinsNext(worker)

/** LCM trusts the next certificate at its address, which a listing may show although the machine has lost it since. */
const pinsNext = (worker: Worker): boolean =>
  worker.status === 'RUNNING' && worker.cml.certificate_sha256 === null && isTrusted(worker)

/** A listing may be older than our last action, so it is used only when it shows no change. */
const isAsRecorded = (worker: Worker, listed: Instance, by: CmlAddress): boolean =>
  statusOfEc2State(listed.state, true) === worker.status && isEmpty(factsOf(worker, listed, by))

/** The machine of an attempt that was never recorded: by its token, else by our tag. A live one comes first. */
async function findLaunched(parts: ObserveParts, worker: Worker, signal: AbortSignal): Promise<Instance | null> {
  const { machines, config } = parts
  const region = worker.aws_region
  const byToken = worker.launch ? await machines.list(region, { client_token: worker.launch.client_token }, signal) : []
  const tags = { [TAG.workerId]: worker.id, [TAG.fleet]: config.fleet }
  const found =
    byToken.length > 0 ? byToken : (await machines.list(region, { tags }, signal)).filter(each => !isDead(each))
  return found.find(each => !isDead(each)) ?? found[0] ?? null
}

async function observeCml(
  { cml, clock, memory: { observations, cmlOutages } }: ObserveParts,
  worker: Worker,
  url: string | null,
  signal: AbortSignal,
): Promise<CmlObservation | null> {
  if (!(needsApproval(worker) ? awaitsPublicFacts(worker) : awaitsCml(worker, observations))) {
    observations.forgetCml(worker.id)
    return null
  }
  if (url === null) return null
  // Monotonic: a wall clock set back would make the last probe seem recent.
  const recent = observations.recentCml(worker, url, clock.monotonic())
  if (recent) return recent
  const probe = await cml.probe({ url, certificate_sha256: worker.cml.certificate_sha256 }, signal)
  if (worker.status === 'RUNNING' && worker.service_status !== 'STARTING')
    cmlOutages.heard(worker.id, probe.stage === 'READY')
  return observations.sawCml(worker.id, url, probe, clock.monotonic())
}

type Inside = Pick<Observation, 'license' | 'nodeDefinitions'>

/** License and node definitions: read now where a decision depends on them, else from the last probe. */
async function observeInside(
  parts: ObserveParts,
  worker: Worker,
  { policy, url }: { policy: WorkerPolicy; url: string | null },
  signal: AbortSignal,
): Promise<Inside> {
  const { probes } = parts
  if (needsApproval(worker)) return NOTHING_SEEN
  if (url === null || !dependsOnLicense(worker, policy)) {
    if (BEFORE_BOOT.includes(worker.status)) return NOTHING_SEEN
    if (worker.status !== 'RUNNING') dropProbe(parts, worker.id)
    return probes.latest(worker.id) ?? NOTHING_SEEN
  }
  const license = await readLicense(parts, worker, url, signal)
  if (worker.status !== 'RUNNING' || worker.license.pending_operation !== null) {
    // The license is being changed: an earlier probe would soon contradict the record.
    dropProbe(parts, worker.id)
    return { license, nodeDefinitions: null }
  }
  const seen = { license, nodeDefinitions: await readNodeDefinitions(parts, worker, url, signal) }
  probes.record(worker.id, seen)
  return seen
}

/** The next probe is due at once. Otherwise sessions would wait for node definitions until the next interval. */
function dropProbe({ probes, memory }: ObserveParts, workerId: string): void {
  probes.record(workerId, null)
  memory.probes.forget(workerId)
}

const NOTHING_SEEN: Inside = { license: null, nodeDefinitions: null }

async function launchInputs(parts: ObserveParts, worker: Worker, signal: AbortSignal): Promise<LaunchInputs> {
  const template = await findTemplate(parts.client, worker.template_name, signal)
  const wanted = template && { name_pattern: template.ami_name_pattern, owner: template.ami_owner }
  const { image, problem } = await findImage(parts, worker, wanted, signal)
  return {
    template,
    problem,
    region: parts.config.regions[worker.aws_region] ?? null,
    image,
    scarce: parts.memory.launches.activeIn(worker.aws_region, parts.clock.now()),
  }
}

async function findImage(
  { machines, reads }: ObserveParts,
  worker: Worker,
  wanted: ImageQuery | null,
  signal: AbortSignal,
): Promise<{ image: Image | null; problem: Unreadable | null }> {
  try {
    return { image: wanted && (await machines.newestImage(worker.aws_region, wanted, signal)), problem: null }
  } catch (error) {
    if (error instanceof CloudError) return { image: null, problem: reads.unreadable(worker, 'images', error) }
    throw error
  }
}

const findTemplate = (client: Client, name: string, signal: AbortSignal): Promise<WorkerTemplate | null> =>
  unlessMissing(client.call('getTemplate', { params: { name }, signal }))
