import { unlessMissing } from '@lcm/client/api-error'
import type { Client } from '@lcm/client/client'
import type { Machines } from '@lcm/cloud/batched-compute'
import type { CmlLogins } from '@lcm/cloud/cml-logins'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Image, ImageQuery } from '@lcm/cloud/compute'
import { CloudError } from '@lcm/cloud/errors'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { type CmlAddress, endpointOf } from '@lcm/domain/worker/endpoint'
import { factsOf, isDead, isEmpty } from '@lcm/domain/worker/facts'
import { type Instance, TAG } from '@lcm/domain/worker/instance'
import { holdsLicense } from '@lcm/domain/worker/license-operation'
import { statusOfEc2State } from '@lcm/domain/worker/lifecycle'
import type {
  CmlSight,
  Ec2Sight,
  LaunchInputs,
  Observation,
  Unreadable,
  WorkerPolicy,
} from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { type CapacityRefusals, capacityRefusals } from './capacity-refusals.ts'
import type { CmlAccessWatch } from './cml-access.ts'
import { type CmlProbes, readNodeDefinitions } from './cml-probes.ts'
import type { WorkerControllerConfig } from './config.ts'
import type { Ec2Outages } from './ec2-outages.ts'
import { probeSchedule } from './idle-check.ts'
import { dependsOnLicense, readLicense } from './licenses.ts'
import { metricsAge } from './metrics-age.ts'
import { type ObservationMemory, observationMemory } from './observation-memory.ts'
import type { RegionSnapshots } from './region-snapshots.ts'
import { tagBackoff } from './tag-backoff.ts'

export interface ObserveParts {
  readonly machines: Machines
  readonly reads: Pick<Ec2Outages, 'unreadable'>
  readonly cml: CmlSystem
  readonly client: Client
  readonly clock: Clock
  readonly config: WorkerControllerConfig
  readonly logins: CmlLogins
  readonly snapshots: RegionSnapshots
  readonly surveys: Pick<CmlProbes, 'latest' | 'record' | 'forget'>
  readonly access: Pick<CmlAccessWatch, 'accessTo' | 'isOutdated' | 'forget'>
}

export interface Observer {
  /** Effects that only read. A cloud that does not answer is part of what is seen; an API that does not is an error. */
  observe(worker: Worker, policy: WorkerPolicy, signal: AbortSignal): Promise<Observation>
  /** What earlier terms saw is forgotten: a new leader may be slower to believe something, never quicker. */
  beginTerm(epoch: number): void
  /** Nothing of this open attempt was sent yet: there is no machine to look for. */
  launchUnsent(workerId: string, clientToken: string): void
  /** The open attempt is about to be sent. Answers whether nothing of it was sent before. */
  launchSent(workerId: string): boolean
  /** The cloud had no room for this attempt. */
  launchRefused(worker: Worker): void
  surveyAsked(workerId: string): void
  /** Whether CML just said that it gave its licence back. Kept until the record says so. */
  returnHeard(workerId: string, isReturned: boolean): void
  /** Whether a worker's CML answered somebody who asked for something else. */
  cmlHeard(workerId: string, answered: boolean): void
  /** EC2 was asked to set the tags of its machine, whatever it answered. */
  tagSent(worker: Worker): void
  /** A sample of the worker was reported. */
  measured(workerId: string): void
  forget(workerId: string): void
}

export function observer(given: ObserveParts): Observer {
  const { clock, config } = given
  const memory = observationMemory(config.policy)
  const times = probeSchedule(config.idleCheckIntervalMs)
  const measures = metricsAge(config.metricsIntervalMs)
  const scarce = capacityRefusals(config.policy.capacityPauseMs)
  const tags = tagBackoff()
  const returned = new Set<string>()
  const unsent = new Map<string, string>()
  const parts: Parts = { ...given, memory, scarce, unsent }
  let term = 0
  return {
    async observe(worker, policy, signal) {
      if (worker.license.unsettled !== 'deregister') returned.delete(worker.id)
      if (NOT_ASKED.includes(worker.status)) given.access.forget(worker.id)
      const ec2 = await seeEc2(parts, worker, signal)
      const url = ec2.kind === 'instance' ? endpointOf(ec2.instance, policy.cmlAddress) : null
      return {
        ec2,
        cml: await seeCml(parts, worker, url, signal),
        ...(await seeInside(parts, worker, { policy, url }, signal)),
        isReturnHeard: returned.has(worker.id),
        launch: needsLaunch(worker) ? await launchInputs(parts, worker, signal) : null,
        isSurveyDue: times.isDue(worker, clock.monotonic()) || given.access.isOutdated(worker),
        metricsSilentSince: measures.staleSince(worker, clock.now()),
        tagPauseMs: tags.leftMs(worker, clock.monotonic()),
        access: given.access.accessTo(worker),
      }
    },
    beginTerm(epoch) {
      if (epoch === term) return
      memory.clear()
      times.clear()
      measures.clear()
      tags.clear()
      returned.clear()
      unsent.clear()
      term = epoch
    },
    launchUnsent: (workerId, clientToken) => void unsent.set(workerId, clientToken),
    launchSent(workerId) {
      memory.launchSent(workerId)
      return unsent.delete(workerId)
    },
    launchRefused({ aws_region, launch }) {
      if (launch !== null) scarce.refused(aws_region, launch, clock.now())
    },
    surveyAsked: workerId => times.requested(workerId, clock.monotonic()),
    returnHeard(workerId, isReturned) {
      if (isReturned) returned.add(workerId)
      else returned.delete(workerId)
    },
    cmlHeard: memory.heardCml,
    tagSent: worker => tags.sent(worker, clock.monotonic()),
    measured: workerId => measures.measured(workerId, clock.now()),
    forget(workerId) {
      memory.forget(workerId)
      times.forget(workerId)
      measures.forget(workerId)
      tags.forget(workerId)
      returned.delete(workerId)
      unsent.delete(workerId)
      given.logins.forget(workerId)
      given.surveys.forget(workerId)
      given.access.forget(workerId)
    },
  }
}

/** Their CML does not run, so what it refused before says nothing any more. */
const NOT_ASKED: readonly Worker['status'][] = ['STOPPED', 'STARTING', 'FAILED']

interface Parts extends ObserveParts {
  readonly memory: ObservationMemory
  readonly scarce: CapacityRefusals
  /** By worker: the token of an attempt that this term opened and has not sent. */
  readonly unsent: ReadonlyMap<string, string>
}

/** While it comes up, when it went silent, when its certificate is to be pinned, or when somebody wants a fresh look. */
const awaitsCml = (worker: Worker, memory: ObservationMemory): boolean =>
  worker.status === 'STARTING' ||
  ((worker.status === 'RUNNING' || worker.status === 'DRAINING') &&
    (worker.service_status !== 'AVAILABLE' ||
      worker.refresh_requested_at !== null ||
      worker.cml.certificate_sha256 === null ||
      memory.isSilent(worker.id))) ||
  (worker.status === 'TERMINATING' && worker.cml.certificate_sha256 === null && holdsLicense(worker))

/** A failed worker without a machine is tried again when its template has changed. */
const needsLaunch = (worker: Worker): boolean =>
  worker.desired_status === 'RUNNING' &&
  ((worker.status === 'PENDING' && worker.launch?.state !== 'open') ||
    (worker.status === 'FAILED' && worker.ec2_instance_id === null))

async function seeEc2(parts: Parts, worker: Worker, signal: AbortSignal): Promise<Ec2Sight> {
  if (worker.ec2_instance_id === null && worker.launch?.state !== 'open') {
    return { kind: 'absent', confirmed: true, because: 'nothing was launched' }
  }
  if (worker.launch?.state === 'open' && parts.unsent.get(worker.id) === worker.launch.client_token) {
    // A wanted attempt is about to be sent. An unwanted one has no machine to wait for.
    const confirmed = worker.desired_status !== 'RUNNING'
    return { kind: 'absent', confirmed, because: `attempt ${worker.launch.n} was not sent yet` }
  }
  try {
    const instance = await findInstance(parts, worker, signal)
    if (instance === null) return parts.memory.missed(worker, parts.clock)
    parts.memory.found(worker.id)
    return { kind: 'instance', instance }
  } catch (error) {
    if (error instanceof CloudError) return { kind: 'unknown', ...parts.reads.unreadable(worker, 'instances', error) }
    throw error
  }
}

async function findInstance(parts: Parts, worker: Worker, signal: AbortSignal): Promise<Instance | null> {
  const id = worker.ec2_instance_id
  if (id === null) return findLaunched(parts, worker, signal)
  if (isAtRest(worker)) {
    const listed = (await parts.snapshots.latest(worker.aws_region, signal)).get(id)
    if (listed && isAsRecorded(worker, listed, parts.config.policy.cmlAddress)) return listed
  }
  const found = await parts.machines.look(worker.aws_region, id, signal)
  // Two ways of asking must agree before a machine counts as missed.
  return found ?? (await parts.snapshots.latest(worker.aws_region, signal)).get(id) ?? null
}

const isAtRest = (worker: Worker): boolean =>
  worker.status === worker.desired_status &&
  worker.service_status !== 'STARTING' &&
  worker.refresh_requested_at === null

/** A listing may be older than the last thing we did, so it is believed only when it says that nothing changed. */
const isAsRecorded = (worker: Worker, listed: Instance, by: CmlAddress): boolean =>
  statusOfEc2State(listed.state, true) === worker.status && isEmpty(factsOf(worker, listed, by))

/** The machine of an attempt that was never recorded: by its token, else by our tag. A live one comes first. */
async function findLaunched(parts: Parts, worker: Worker, signal: AbortSignal): Promise<Instance | null> {
  const { machines, config } = parts
  const region = worker.aws_region
  const byToken = worker.launch ? await machines.list(region, { client_token: worker.launch.client_token }, signal) : []
  const tags = { [TAG.workerId]: worker.id, [TAG.fleet]: config.fleet }
  const found =
    byToken.length > 0 ? byToken : (await machines.list(region, { tags }, signal)).filter(each => !isDead(each))
  return found.find(each => !isDead(each)) ?? found[0] ?? null
}

async function seeCml(
  { cml, clock, memory }: Parts,
  worker: Worker,
  url: string | null,
  signal: AbortSignal,
): Promise<CmlSight | null> {
  if (!awaitsCml(worker, memory)) {
    memory.forgetCml(worker.id)
    return null
  }
  if (url === null) return null
  // Not by the wall clock: one that is set back would make the last look a recent one for as long.
  const recent = memory.recentCml(worker.id, url, clock.monotonic())
  if (recent) return recent
  const look = await cml.probe({ url, certificate_sha256: worker.cml.certificate_sha256 }, signal)
  return memory.sawCml(worker.id, url, look, clock.monotonic())
}

type Inside = Pick<Observation, 'license' | 'nodeDefinitions'>

/** What CML says of itself to those who may ask: now where something depends on it, else as its last visitor found it. */
async function seeInside(
  parts: Parts,
  worker: Worker,
  { policy, url }: { policy: WorkerPolicy; url: string | null },
  signal: AbortSignal,
): Promise<Inside> {
  const { surveys } = parts
  if (url === null || !dependsOnLicense(worker, policy)) {
    if (worker.status !== 'RUNNING') surveys.record(worker.id, null)
    return surveys.latest(worker.id) ?? NOTHING_SEEN
  }
  const license = await readLicense(parts, worker, url, signal)
  if (worker.status !== 'RUNNING' || worker.license.pending_operation !== null) {
    // It is being changed: what a visit found before would soon contradict what is on record.
    surveys.record(worker.id, null)
    return { license, nodeDefinitions: null }
  }
  const seen = { license, nodeDefinitions: await readNodeDefinitions(parts, worker, url, signal) }
  surveys.record(worker.id, seen)
  return seen
}

const NOTHING_SEEN: Inside = { license: null, nodeDefinitions: null }

async function launchInputs(parts: Parts, worker: Worker, signal: AbortSignal): Promise<LaunchInputs> {
  const template = await findTemplate(parts.client, worker.template_name, signal)
  const wanted = template && { name_pattern: template.ami_name_pattern, owner: template.ami_owner }
  const { image, problem } = await findImage(parts, worker, wanted, signal)
  return {
    template,
    problem,
    region: parts.config.regions[worker.aws_region] ?? null,
    image,
    scarce: parts.scarce.activeIn(worker.aws_region, parts.clock.now()),
  }
}

async function findImage(
  { machines, reads }: Parts,
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
