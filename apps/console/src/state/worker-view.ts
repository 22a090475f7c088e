import { type Instant, toInstant } from '@lcm/domain/instant'
import { BOOT_CONDITIONS, type BootCondition, bootStage, holds } from '@lcm/domain/worker/boot'
import { costOf } from '@lcm/domain/worker/cost'
import type {
  Condition,
  DesiredStatus,
  ServiceStatus,
  StateChange,
  Worker,
  WorkerStatus,
} from '@lcm/domain/worker/worker'

export const isBooting = (worker: Worker): boolean => worker.status === 'PROVISIONING' || worker.status === 'STARTING'

/** One that drains goes on to what it is drained for, which is not yet what it is wanted to be. */
export const desiredStatusOf = ({ status, drain, desired_status }: Worker): DesiredStatus =>
  status === 'DRAINING' && drain !== null ? drain.then : desired_status

/** A worker that is where it is wanted needs no arrow. */
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
  /** `now` is the first that does not hold yet. */
  readonly state: 'passed' | 'now' | 'later'
  /** When it passed or, for `now`, since when it is its turn. */
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
    message: conditionAt(index)?.message ?? '',
  }))
}

/** What the boot waits for: in the controller's words where it gave some. */
export function bootText(worker: Worker): string {
  const waiting = bootStages(worker).find(stage => stage.state === 'now')
  return waiting?.message || bootStage(worker.conditions) || 'ready, making sure that it stays so'
}

const isStage = (type: string): boolean => BOOT_CONDITIONS.some(stage => stage === type)
export const otherConditions = (worker: Worker): Condition[] =>
  worker.conditions.filter(condition => !isStage(condition.type))

/** Newest first. It is kept in the order in which it was made, which no clock that was set back can change. */
export const historyOf = (worker: Worker): StateChange[] => worker.state_history.toReversed()

const SERVICE_TEXTS: Readonly<Record<ServiceStatus, string>> = {
  UNAVAILABLE: 'does not answer',
  STARTING: 'is starting',
  AVAILABLE: 'available',
  ERROR: 'reports an error',
}

/** One line on what a worker that is not booting is up to. */
export function statusNote(worker: Worker): string {
  if (worker.status === 'RUNNING') return `CML ${worker.cml.version ?? ''} ${SERVICE_TEXTS[worker.service_status]}`
  const launchError = worker.status === 'PENDING' || worker.status === 'FAILED' ? worker.launch?.error : null
  return launchError ?? historyOf(worker)[0]?.because ?? ''
}

/** By the bill, and not by the status: the machine of one that failed may be stopped, or be left running. */
export const isSpending = ({ billing: { cause } }: Worker): boolean => cause !== null && cause !== 'stopped'

/** The time runs on while nothing is told of a worker. */
export const spentUsd = (worker: Worker, nowMs: number): number => costOf(worker, toInstant(nowMs)).spent_usd

export interface FleetSummary {
  readonly byStatus: ReadonlyMap<WorkerStatus, number>
  /** Without those that are gone. */
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
