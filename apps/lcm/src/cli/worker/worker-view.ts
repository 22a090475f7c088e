import { toMs } from '@lcm/domain/instant'
import { NOT_DECIDED_YET } from '@lcm/domain/next'
import { BOOT_CONDITIONS, holds } from '@lcm/domain/worker/boot'
import { CONDITION, type Condition, type Worker } from '@lcm/domain/worker/worker'
import { nextOfWorker } from '@lcm/domain/worker/worker-next'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import type { Column } from '../terminal/table.ts'

type Heading = Pick<Worker, 'status' | 'drain'> & { readonly desired_status: string }

/** Where it is, and where it will be if that is somewhere else. What a drain leads to is wanted only once it is over. */
export function statusOf({ status, desired_status, drain }: Heading): string {
  if (status === 'TERMINATED') return desired_status === status ? status : `${status} (lost)`
  const next = status === 'DRAINING' && drain !== null ? drain.then : desired_status
  return status === next ? status : `${status} -> ${next}`
}

/** A machine that does not run answers nowhere, and a public address may be another's by now. */
export const addressOf = ({ status, public_ip, private_ip }: Worker): string =>
  status === 'STOPPED' || status === 'TERMINATED' ? '' : (public_ip ?? private_ip ?? '')

export const ageOf = (instant: string, nowMs: number): string => formatDuration(nowMs - toMs(instant))

/** Conditions that keep a worker where it is, and say why. */
const OBSTACLES = [CONDITION.failed, CONDITION.blocked, CONDITION.held]

export const isBootStage = (condition: Condition): boolean => BOOT_CONDITIONS.some(type => type === condition.type)

const obstacleOf = (worker: Worker): Condition | undefined =>
  OBSTACLES.flatMap(type => worker.conditions.filter(each => each.type === type && each.status)).at(0)

/** Why it failed, in the words of whoever noticed. */
export function failureOf(worker: Worker): string {
  const failed = worker.conditions.find(condition => condition.type === CONDITION.failed && condition.status)
  return failed?.message || worker.state_history.at(-1)?.because || 'no reason is recorded'
}

/** What it waits for, as a sentence; empty where the record does not say, and for its license, without which it can be used. */
export function waitsFor(worker: Worker): string {
  const { next, blocked_by: blockedBy } = nextOfWorker({
    worker,
    decisions: [],
    plan: null,
    controller: null,
    nowMs: 0,
  })
  if (blockedBy === null || next === 'license') return ''
  if (blockedBy.code !== NOT_DECIDED_YET) return blockedBy.message
  return next === 'launch' ? 'waiting for its launch' : ''
}

/** The same in a word or two, for a table. */
export function stageOf(worker: Worker): string {
  switch (worker.status) {
    case 'PENDING':
      return obstacleOf(worker)?.type ?? (worker.launch === null ? '' : `attempt ${worker.launch.n}`)
    case 'FAILED':
      return obstacleOf(worker)?.reason ?? ''
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
  { title: 'STAGE', text: stageOf },
  { title: 'REGION', text: worker => worker.aws_region },
  { title: 'TYPE', text: worker => worker.instance_type ?? '' },
  { title: 'ADDRESS', text: addressOf },
  { title: 'AGE', text: worker => ageOf(worker.created_at, nowMs) },
]
