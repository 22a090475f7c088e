import type { CmlLab } from '@lcm/cloud-sim/cml/labs/lab'
import { isUp, nodeStateAt } from '@lcm/cloud-sim/cml/labs/lab-element-states'
import type { SimModel } from '@lcm/cloud-sim/sim-model'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { CONDITION, holds, type Worker } from '@lcm/domain/worker/worker'
import type { CloudAccess } from '../../world/cloud-ports.ts'
import type { EventFollower } from '../../world/event-follower.ts'

/** What the simulated cloud knows about a session, whatever LCM has recorded. */
export interface LabTruth {
  /** Since when EC2 says that the machine of its worker runs; null while it doesn't. */
  readonly runningSinceMs: number | null
  /** Since when CML was last started, by which its labs were stopped. */
  readonly downMs: number
  /** Whether CML was away too briefly for a probe, and stopped a single node, as if its user had shut it down. */
  readonly isUnseenRestart: boolean
  /** Whether CML serves LCM; null while it serves some calls only, or LCM itself takes its machine down. */
  readonly isServed: boolean | null
  readonly lab: CmlLab | null
  readonly isLabUp: boolean
}

export interface LabTruthParts {
  readonly cloud: SimModel
  readonly access: CloudAccess
  readonly following: Pick<EventFollower, 'workers' | 'labs'>
}

const NO_MACHINE: LabTruth = {
  ...{ runningSinceMs: null, downMs: 0, isUnseenRestart: false, isServed: false, lab: null, isLabUp: false },
}
/** Each lab is read once a minute while nothing happens. */
const LABS_POLLED_MS = 60_000
/** Longer than the interval between two probes. */
const PROBED_MS = 20_000

export const labTruths =
  ({ cloud, access, following }: LabTruthParts) =>
  (session: LabletSession): LabTruth => {
    const worker = following.workers.get(session.worker_id ?? '')
    const machine = worker?.ec2_instance_id ?? null
    const view = machine === null ? null : cloud.machine(machine)
    if (worker === undefined || machine === null || view === null || view.state !== 'running') return NO_MACHINE
    const { timeline, boot } = view.instance
    const nowMs = cloud.now()
    const downMs = boot.findLast(({ stage, from_ms }) => stage === 'NOTHING' && from_ms <= nowMs)?.from_ms ?? 0
    const upMs = boot.find(({ stage, from_ms }) => stage === 'READY' && from_ms > downMs)?.from_ms ?? nowMs
    const lab = labOf(cloud, machine, session, following)
    return {
      runningSinceMs: timeline.findLast(({ from_ms }) => from_ms <= nowMs)?.from_ms ?? null,
      downMs,
      isUnseenRestart: upMs - downMs < PROBED_MS && nodesStoppedAt(cloud, machine, downMs) <= 1,
      isServed: isServed({ cloud, access }, worker, machine),
      lab,
      isLabUp: lab?.nodes.some(node => isUp(nodeStateAt(node, nowMs))) ?? false,
    }
  }

const nodesStoppedAt = (cloud: SimModel, machine: string, atMs: number): number =>
  (cloud.cml.contextOf(machine)?.labs ?? [])
    .flatMap(({ nodes }) => nodes)
    .filter(({ timeline }) => timeline.some(({ from_ms, isLost = false }) => isLost && from_ms === atMs)).length

function labOf(cloud: SimModel, machine: string, session: LabletSession, { labs }: LabTruthParts['following']) {
  const own = cloud.cml.contextOf(machine)?.labs.filter(({ title }) => title.endsWith(` ${session.id}`)) ?? []
  const bound = labs.get(session.lab_record_id ?? '')?.lab_id
  return own.find(({ id }) => id === bound) ?? own[0] ?? null
}

function isServed({ cloud, access }: Pick<LabTruthParts, 'cloud' | 'access'>, worker: Worker, machine: string) {
  if (access.isCmlCut || access.silent.has(machine) || cloud.cml.stageOf(machine) !== 'READY') return false
  const labFault = access.labFaults.get(machine)
  if (labFault !== undefined)
    return labFault.how === 'fails' && cloud.now() - labFault.sinceMs > LABS_POLLED_MS ? false : null
  if (worker.status === 'STOPPING' || worker.status === 'TERMINATING') return null
  const pinned = worker.cml.certificate_sha256
  if (pinned !== null && pinned !== cloud.cml.fingerprintOf(machine)) return false
  const { network, fail_one_in, ram_taken_mib, never_boot } = cloud.cml.contextOf(machine)?.faults ?? {}
  if (network === 'cut') return false
  const isPartial = fail_one_in !== 0 || ram_taken_mib !== 0 || never_boot?.length !== 0
  return isPartial || holds(worker.conditions, CONDITION.cmlAccessRefused) ? null : true
}
