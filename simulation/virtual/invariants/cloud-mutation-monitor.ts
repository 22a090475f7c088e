import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute, PowerAction } from '@lcm/cloud/compute'
import type { SimModel } from '@lcm/cloud-sim/sim-model'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import type { Worker, WorkerStatus } from '@lcm/domain/worker/worker'
import type { Collection } from '@lcm/store/store'
import { CLOCK_MS_MAX } from '../world/controller-process.ts'
import type { Mutation } from './cloud-mutation.ts'
import type { DecisionIndex } from './decision-index.ts'

const SERVICE = 'worker-controller'

export interface CloudMutationMonitorParts {
  readonly cloud: SimModel
  readonly workers: Collection<Worker>
  readonly leaks: Collection<LicenseLeak>
  readonly decided: DecisionIndex
  now(): number
  onMutation(mutation: Mutation): void
  violated(rule: string): void
}

export interface CloudMutationMonitor {
  compute(by: string, compute: Compute): Compute
  cml(by: string, cml: CmlSystem): CmlSystem
  workerOf(machine: string): Promise<Worker | null>
}

/** The worker status that each power action requires. */
const ALLOWED_STATUS: Readonly<Record<PowerAction, readonly WorkerStatus[]>> = {
  start: ['STARTING', 'TERMINATING'],
  stop: ['STOPPING', 'FAILED'],
  force_stop: ['STOPPING'],
  terminate: ['TERMINATING'],
}

/** The time since which the change may have been decided; the clock of a controller may be wrong. */
function announcedAt({ entered_status_at, license }: Worker, act: Mutation['act']): Instant {
  const isOfLicense = act === 'register' || act === 'deregister'
  if (!isOfLicense || license.operation_started_at === null) return entered_status_at
  return toInstant(Math.max(toMs(entered_status_at), toMs(license.operation_started_at) - CLOCK_MS_MAX))
}

/** Whether a decision or a user request explains the change, made since the worker has its current status. */
async function isDecided(decided: DecisionIndex, act: Mutation['act'], worker: Worker): Promise<boolean> {
  const [resource, since] = [`worker:${worker.id}`, announcedAt(worker, act)]
  return (await decided.has(SERVICE, resource, since)) || decided.isRequestedByUser(resource, since)
}

interface Tagging {
  readonly machine: string
  readonly worker: Worker | null
  readonly tags: Readonly<Record<string, string>>
}

/** Only the Name tag may be set, and only of machines that LCM launched. */
function beforeTag(
  { now, onMutation, violated }: CloudMutationMonitorParts,
  by: string,
  { machine, worker, tags }: Tagging,
): void {
  onMutation({ atMs: now(), by, service: SERVICE, act: 'tag', machine, worker: worker?.id ?? null })
  if (worker === null || worker.origin === 'DISCOVERY') violated(`${by}: tags ${machine}, which LCM did not launch`)
  const others = Object.keys(tags).filter(key => key !== TAG.name)
  if (others.length > 0) violated(`${by}: sets ${others.join(', ')} of ${machine}`)
}

async function beforeTermination(
  parts: CloudMutationMonitorParts,
  by: string,
  worker: Worker,
  machine: string,
): Promise<void> {
  if (worker.desired_status !== 'TERMINATED')
    parts.violated(`${by}: terminates ${worker.name}, which was not requested`)
  const isHeld = parts.cloud.cml.smartAccount().some(seat => seat.instance_id === machine)
  const leaks = isHeld ? await parts.leaks.list({ where: { worker_id: worker.id }, limit: 1 }) : []
  if (isHeld && leaks.length === 0) parts.violated(`${by}: terminates ${worker.name} with its license`)
}

/** Wraps the cloud ports: every change must have been announced by a write and explained by a decision. */
export function cloudMutationMonitor(parts: CloudMutationMonitorParts): CloudMutationMonitor {
  const { cloud, workers, decided, violated } = parts
  const ofMachine = async (machine: string): Promise<Worker | null> =>
    (await workers.list({ where: { ec2_instance_id: machine }, limit: 1 }))[0] ?? null

  async function beforePower(by: string, act: PowerAction, machine: string): Promise<void> {
    const worker = await ofMachine(machine)
    parts.onMutation({ atMs: parts.now(), by, service: SERVICE, act, machine, worker: worker?.id ?? null })
    if (worker === null || worker.status === 'TERMINATED') {
      if (act !== 'terminate') violated(`${by}: ${act} of ${machine}, which belongs to no worker`)
      else if (!(await decided.hasOrphanPermit(machine))) violated(`${by}: terminates ${machine} without a decision`)
      return
    }
    await mustBeDecided(by, act, worker)
    if (!ALLOWED_STATUS[act].includes(worker.status)) violated(`${by}: ${act} of ${worker.name} while ${worker.status}`)
    if (act === 'terminate') await beforeTermination(parts, by, worker, machine)
  }

  async function mustBeDecided(by: string, act: Mutation['act'], worker: Worker): Promise<void> {
    if (!(await isDecided(decided, act, worker)))
      violated(`${by}: ${act} of ${worker.name} without a decision since it is ${worker.status}`)
  }

  async function beforeLicense(by: string, act: 'register' | 'deregister', url: string): Promise<void> {
    const machine = cloud.cml.reachedAt(url)
    const worker = machine === null ? null : await ofMachine(machine)
    if (machine === null || worker === null) return
    parts.onMutation({ atMs: parts.now(), by, service: SERVICE, act, machine, worker: worker.id })
    await mustBeDecided(by, act, worker)
    // A license may be lost with its machine during its return, so the record must say that a return is pending.
    const isAnnounced =
      act === 'register' ? worker.license.status === 'REGISTERING' : worker.license.unsettled === 'deregister'
    if (!isAnnounced) violated(`${by}: ${act} of ${worker.name} while ${worker.license.status}, ${worker.status}`)
  }

  return {
    workerOf: ofMachine,
    compute: (by, compute) => ({
      ...compute,
      async launch(region, request, signal) {
        const [id, machine] = [request.parameters.tags[TAG.workerId] ?? '', request.client_token]
        const worker = await workers.get(id)
        parts.onMutation({ atMs: parts.now(), by, service: SERVICE, act: 'launch', machine, worker: id })
        if (worker !== null) await mustBeDecided(by, 'launch', worker)
        const isOpen = worker?.launch?.state === 'open' && worker.launch.client_token === request.client_token
        if (!isOpen) violated(`${by}: a launch for ${id} that no open attempt announced`)
        return compute.launch(region, request, signal)
      },
      async power(region, act, ids, signal) {
        for (const id of ids) await beforePower(by, act, id)
        return compute.power(region, act, ids, signal)
      },
      async tag(region, id, tags, signal) {
        beforeTag(parts, by, { machine: id, worker: await ofMachine(id), tags })
        return compute.tag(region, id, tags, signal)
      },
    }),
    cml: (by, cml) => ({
      ...cml,
      async register(login, request, signal) {
        await beforeLicense(by, 'register', login.url)
        return cml.register(login, request, signal)
      },
      async deregister(login, signal) {
        await beforeLicense(by, 'deregister', login.url)
        return cml.deregister(login, signal)
      },
    }),
  }
}
