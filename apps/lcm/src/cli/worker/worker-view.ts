import { toMs } from '@lcm/domain/instant'
import { NOT_DECIDED_YET } from '@lcm/domain/next-step'
import { BOOT_CONDITIONS } from '@lcm/domain/worker/boot-stages'
import { awaitsApproval } from '@lcm/domain/worker/instance-trust'
import { CONDITION, type Condition, holds, type Worker } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import { nextOfWorker } from '@lcm/domain/worker/worker-next-step'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import type { Column } from '../terminal/table.ts'

type Heading = Pick<Worker, 'status' | 'drain'> & { readonly desired_status: string }

/** The status, and the desired status if it differs. For a draining worker this is the end status of the drain. */
export function statusOf({ status, desired_status, drain }: Heading): string {
  if (status === 'TERMINATED') return desired_status === status ? status : `${status} (lost)`
  const next = status === 'DRAINING' && drain !== null ? drain.then : desired_status
  return status === next ? status : `${status} -> ${next}`
}

/** Empty for a stopped worker, because its public address may belong to another machine now. */
export const addressOf = ({ status, public_ip, private_ip }: Worker): string =>
  status === 'STOPPED' || status === 'TERMINATED' ? '' : (public_ip ?? private_ip ?? '')

export const ageOf = (instant: string, nowMs: number): string => formatDuration(nowMs - toMs(instant))

/** Conditions that block a worker. */
const OBSTACLES = [CONDITION.failed, CONDITION.blocked, CONDITION.held]

export const isBootStage = (condition: Condition): boolean => BOOT_CONDITIONS.some(type => type === condition.type)

const obstacleOf = (worker: Worker): Condition | undefined =>
  OBSTACLES.flatMap(type => worker.conditions.filter(each => each.type === type && each.status)).at(0)

/** The message of the failure. */
export function failureOf(worker: Worker): string {
  const failed = worker.conditions.find(condition => condition.type === CONDITION.failed && condition.status)
  return (failed?.reason ?? worker.state_history.at(-1)?.because)?.message ?? 'no reason is recorded'
}

/** The reason for waiting; empty if unknown, and for a missing license, because the worker can be used without it. */
export function waitsFor(worker: Worker): string {
  const { next, blocked_by: blockedBy } = nextOfWorker({
    worker,
    decisions: [],
    plan: null,
    controller: null,
    nowMs: 0,
  })
  if (blockedBy === null || next === 'license') return ''
  if (blockedBy.code !== NOT_DECIDED_YET) return blockedBy.reason.message
  return next === 'launch' ? 'waiting for launch' : ''
}

/** A short form of the reason for waiting, for tables. */
export function stageOf(worker: Worker): string {
  if (awaitsApproval(worker)) return 'needs approval'
  if (holds(worker.conditions, CONDITION.certificateChanged)) return CONDITION.certificateChanged
  switch (worker.status) {
    case 'PENDING':
      return obstacleOf(worker)?.type ?? (worker.launch === null ? '' : `attempt ${worker.launch.n}`)
    case 'FAILED':
      return obstacleOf(worker)?.reason.code ?? ''
    case 'PROVISIONING':
    case 'STARTING':
      return bootStep(worker)
    case 'RUNNING':
      return worker.service_status === 'AVAILABLE' ? '' : bootStep(worker)
    default:
      return ''
  }
}

function bootStep(worker: Worker): string {
  const missing = BOOT_CONDITIONS.findIndex(type => !holds(worker.conditions, type))
  const step = missing === -1 ? BOOT_CONDITIONS.length : missing + 1
  return `${BOOT_CONDITIONS[step - 1]} ${step}/${BOOT_CONDITIONS.length}`
}

export const workerColumns = (nowMs: number, colors: Colors): readonly Column<Worker>[] => [
  { title: 'NAME', text: worker => worker.name },
  { title: 'ID', text: worker => worker.id },
  { title: 'STATUS', text: statusOf, paint: (text, worker) => statusColor(worker.status, colors)(text) },
  {
    title: 'HEALTH',
    text: worker => (worker.status === 'TERMINATED' ? '' : workerHealth(worker).status),
    paint: (text, worker) => statusColor(workerHealth(worker).status, colors)(text),
  },
  { title: 'STAGE', text: stageOf },
  { title: 'REGION', text: worker => worker.aws_region },
  { title: 'TYPE', text: worker => worker.instance_type ?? '' },
  { title: 'ADDRESS', text: addressOf },
  { title: 'AGE', text: worker => ageOf(worker.created_at, nowMs) },
]
