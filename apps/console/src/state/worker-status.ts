import { type Instant, toInstant } from '@lcm/domain/instant'
import { BOOT_CONDITIONS, type BootCondition, bootStage } from '@lcm/domain/worker/boot-stages'
import { costOf } from '@lcm/domain/worker/cost'
import {
  type Condition,
  type DesiredStatus,
  holds,
  type ServiceStatus,
  type StateChange,
  type Worker,
  type WorkerStatus,
} from '@lcm/domain/worker/worker'

export const isBooting = (worker: Worker): boolean => worker.status === 'PROVISIONING' || worker.status === 'STARTING'

/** A draining worker continues to the status after the drain, which is not its desired status yet. */
export const desiredStatusOf = ({ status, drain, desired_status }: Worker): DesiredStatus =>
  status === 'DRAINING' && drain !== null ? drain.then : desired_status

export const differsFromDesired = (worker: Worker): boolean => worker.status !== desiredStatusOf(worker)

const STAGE_NAMES: Readonly<Record<BootCondition, string>> = {
  InstanceRunning: 'Instance running',
  TcpReachable: 'TCP reachable',
  TlsEstablished: 'TLS established',
  GatewayAnswers: 'Gateway answers',
  ApiAnswers: 'API answers',
  CmlReady: 'CML ready',
}

export interface Stage {
  readonly type: BootCondition
  readonly name: string
  /** `now` is the first stage that is not passed yet. */
  readonly state: 'passed' | 'now' | 'later'
  /** Time when it passed or, for `now`, when the previous stage passed. */
  readonly since: Instant | null
  readonly message: string
}

const NOT_BOOTING: readonly WorkerStatus[] = ['STOPPING', 'STOPPED', 'TERMINATING', 'TERMINATED', 'FAILED']

export function bootStages(worker: Worker): Stage[] {
  const { conditions } = worker
  const isWaiting = !NOT_BOOTING.includes(worker.status)
  const first = BOOT_CONDITIONS.findIndex(type => !holds(conditions, type))
  const reached = first === -1 ? BOOT_CONDITIONS.length : first
  const conditionAt = (index: number) => conditions.find(condition => condition.type === BOOT_CONDITIONS[index])
  return BOOT_CONDITIONS.map((type, index) => ({
    type,
    name: STAGE_NAMES[type],
    state: index < reached ? 'passed' : index === reached && isWaiting ? 'now' : 'later',
    since: conditionAt(Math.min(index, Math.max(0, reached - 1)))?.since ?? null,
    message: conditionAt(index)?.reason.message ?? '',
  }))
}

/** Current boot stage, with the controller's message if there is one. */
export function bootText(worker: Worker): string {
  const waiting = bootStages(worker).find(stage => stage.state === 'now')
  return waiting?.message || bootStage(worker.conditions) || 'ready, verifying stability'
}

const isStage = (type: string): boolean => BOOT_CONDITIONS.some(stage => stage === type)
export const otherConditions = (worker: Worker): Condition[] =>
  worker.conditions.filter(condition => !isStage(condition.type))

/** Newest first. Stored in the order of the changes, so a clock that was set back can't reorder it. */
export const historyOf = (worker: Worker): StateChange[] => worker.state_history.toReversed()

const SERVICE_TEXTS: Readonly<Record<ServiceStatus, string>> = {
  UNAVAILABLE: 'is not responding',
  STARTING: 'is starting',
  AVAILABLE: 'available',
  ERROR: 'reports an error',
}

/** Activity of a worker that is not booting, in one line. */
export function statusNote(worker: Worker): string {
  if (worker.status === 'RUNNING') return `CML ${worker.cml.version ?? ''} ${SERVICE_TEXTS[worker.service_status]}`
  const launchError = worker.status === 'PENDING' || worker.status === 'FAILED' ? worker.launch?.error : null
  return launchError ?? historyOf(worker)[0]?.because.message ?? ''
}

/** Based on billing instead of status: the machine of a failed worker may be stopped or still running. */
export const isSpending = ({ billing: { cause } }: Worker): boolean => cause !== null && cause !== 'stopped'

/** Includes the time since the last update of the worker. */
export const spentUsd = (worker: Worker, nowMs: number): number => costOf(worker, toInstant(nowMs)).spent_usd

export interface FleetSummary {
  readonly byStatus: ReadonlyMap<WorkerStatus, number>
  /** Workers that are not terminated. */
  readonly present: number
  readonly running: number
  readonly usdPerHour: number
}

export function summaryOf(workers: readonly Worker[]): FleetSummary {
  const byStatus = new Map<WorkerStatus, number>()
  let [present, usdPerHour] = [0, 0]
  workers.forEach(worker => {
    byStatus.set(worker.status, (byStatus.get(worker.status) ?? 0) + 1)
    if (worker.status !== 'TERMINATED') present++
    if (isSpending(worker)) usdPerHour += worker.cost_per_hour_usd
  })
  return { byStatus, present, running: byStatus.get('RUNNING') ?? 0, usdPerHour }
}
