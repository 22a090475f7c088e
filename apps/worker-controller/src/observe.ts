import { isProblem } from '@lcm/client/api-error'
import type { Client } from '@lcm/client/client'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute, Image, ImageQuery } from '@lcm/cloud/compute'
import { CloudError } from '@lcm/cloud/errors'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { endpointOf, factsOf, isDead, isEmpty } from '@lcm/domain/worker/facts'
import { type Instance, TAG } from '@lcm/domain/worker/instance'
import { statusOfEc2State } from '@lcm/domain/worker/lifecycle'
import type { CmlSight, Ec2Sight, LaunchInputs, Observation } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import type { WorkerControllerConfig } from './config.ts'
import { type RegionSnapshots, regionSnapshots } from './region-snapshots.ts'
import { type Sightings, sightings } from './sightings.ts'

export interface ObserveParts {
  readonly compute: Compute
  readonly cml: CmlSystem
  readonly client: Client
  readonly clock: Clock
  readonly config: WorkerControllerConfig
}

export interface Observer {
  /** Effects that only read. A cloud that does not answer is part of what is seen; an API that does not is an error. */
  observe(worker: Worker, signal: AbortSignal): Promise<Observation>
  /** What earlier terms saw is forgotten: a new leader may be slower to believe something, never quicker. */
  beginTerm(epoch: number): void
  launchSent(workerId: string): void
  forget(workerId: string): void
}

export function observer(parts: ObserveParts): Observer {
  const memory = sightings(parts.config.policy.probeIntervalMs)
  const snapshots = regionSnapshots(parts)
  let term = 0
  return {
    async observe(worker, signal) {
      if (!awaitsCml(worker)) memory.forgetCml(worker.id)
      const ec2 = await seeEc2({ ...parts, memory, snapshots }, worker, signal)
      return {
        ec2,
        cml:
          ec2.kind === 'instance' && awaitsCml(worker)
            ? await seeCml(parts, memory, { worker, instance: ec2.instance, signal })
            : null,
        launch: needsLaunch(worker) ? await launchInputs(parts, worker, signal) : null,
      }
    },
    beginTerm(epoch) {
      if (epoch !== term) memory.clear()
      term = epoch
    },
    launchSent: memory.launchSent,
    forget: memory.forget,
  }
}

const awaitsCml = (worker: Worker): boolean =>
  worker.status === 'STARTING' || (worker.status === 'RUNNING' && worker.service_status !== 'AVAILABLE')

const needsLaunch = (worker: Worker): boolean =>
  worker.status === 'PENDING' && worker.desired_status === 'RUNNING' && worker.launch?.state !== 'open'

interface Ec2Parts extends ObserveParts {
  readonly memory: Sightings
  readonly snapshots: RegionSnapshots
}

async function seeEc2(parts: Ec2Parts, worker: Worker, signal: AbortSignal): Promise<Ec2Sight> {
  if (worker.ec2_instance_id === null && worker.launch?.state !== 'open') {
    return { kind: 'absent', confirmed: true, because: 'nothing was launched' }
  }
  try {
    const instance = await findInstance(parts, worker, signal)
    if (instance === null) return parts.memory.missed(worker, parts.clock.now())
    parts.memory.found(worker.id)
    return { kind: 'instance', instance }
  } catch (error) {
    if (error instanceof CloudError) return { kind: 'unknown', because: `EC2 could not be asked: ${error.message}` }
    throw error
  }
}

async function findInstance(parts: Ec2Parts, worker: Worker, signal: AbortSignal): Promise<Instance | null> {
  const id = worker.ec2_instance_id
  if (id === null) return findLaunched(parts, worker, signal)
  if (isAtRest(worker)) {
    const listed = (await parts.snapshots.latest(worker.aws_region, signal)).get(id)
    if (listed && isAsRecorded(worker, listed)) return listed
  }
  const { found } = await parts.compute.describe(worker.aws_region, [id], signal)
  return found[0] ?? null
}

const isAtRest = (worker: Worker): boolean =>
  worker.status === worker.desired_status && worker.service_status !== 'STARTING'

/** A listing may be older than the last thing we did, so it is believed only when it says that nothing changed. */
const isAsRecorded = (worker: Worker, listed: Instance): boolean =>
  statusOfEc2State(listed.state, true) === worker.status && isEmpty(factsOf(worker, listed))

/** The machine of an attempt that was never recorded: by its token, else by our tag. A live one comes first. */
async function findLaunched(parts: Ec2Parts, worker: Worker, signal: AbortSignal): Promise<Instance | null> {
  const { compute, config } = parts
  const region = worker.aws_region
  const byToken = worker.launch ? await compute.list(region, { client_token: worker.launch.client_token }, signal) : []
  const tags = { [TAG.workerId]: worker.id, [TAG.fleet]: config.fleet }
  const found =
    byToken.length > 0 ? byToken : (await compute.list(region, { tags }, signal)).filter(each => !isDead(each))
  return found.find(each => !isDead(each)) ?? found[0] ?? null
}

async function seeCml(
  { cml, clock }: ObserveParts,
  memory: Sightings,
  at: { worker: Worker; instance: Instance; signal: AbortSignal },
): Promise<CmlSight | null> {
  const url = endpointOf(at.instance)
  if (url === null) return null
  const recent = memory.recentCml(at.worker.id, url, clock.now())
  if (recent) return recent
  const look = await cml.probe({ url, certificate_sha256: at.worker.cml.certificate_sha256 }, at.signal)
  return memory.sawCml(at.worker.id, url, look, clock.now())
}

async function launchInputs(parts: ObserveParts, worker: Worker, signal: AbortSignal): Promise<LaunchInputs> {
  const template = await findTemplate(parts.client, worker.template_name, signal)
  const wanted = template && { name_pattern: template.ami_name_pattern, owner: template.ami_owner }
  const { image, problem } = await findImage(parts.compute, worker.aws_region, wanted, signal)
  return {
    template,
    problem,
    region: parts.config.regions[worker.aws_region] ?? null,
    image,
    fleet: parts.config.fleet,
  }
}

async function findImage(
  compute: Compute,
  region: string,
  wanted: ImageQuery | null,
  signal: AbortSignal,
): Promise<{ image: Image | null; problem: string | null }> {
  try {
    return { image: wanted && (await compute.newestImage(region, wanted, signal)), problem: null }
  } catch (error) {
    if (error instanceof CloudError) return { image: null, problem: error.message }
    throw error
  }
}

async function findTemplate(client: Client, name: string, signal: AbortSignal): Promise<WorkerTemplate | null> {
  try {
    return await client.call('getTemplate', { params: { name }, signal })
  } catch (error) {
    if (isProblem(error, 'not_found')) return null
    throw error
  }
}
