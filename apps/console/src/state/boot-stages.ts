import type { Instant } from '@lcm/domain/instant'
import { BOOT_CONDITIONS, type BootCondition, bootStage } from '@lcm/domain/worker/boot-stages'
import { type Condition, holds, type Worker, type WorkerStatus } from '@lcm/domain/worker/worker'

export const isBooting = (worker: Worker): boolean => worker.status === 'PROVISIONING' || worker.status === 'STARTING'

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
  /** Time when it passed or, for `now`, when the previous stage passed or this one was lost. */
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
  const waitingSince = later(conditionAt(reached - 1)?.since, conditionAt(reached)?.since)
  return BOOT_CONDITIONS.map((type, index) => ({
    type,
    name: STAGE_NAMES[type],
    state: index < reached ? 'passed' : index === reached && isWaiting ? 'now' : 'later',
    since: index < reached ? (conditionAt(index)?.since ?? null) : waitingSince,
    message: conditionAt(index)?.reason.message ?? '',
  }))
}

const later = (a: Instant | undefined, b: Instant | undefined): Instant | null =>
  [a, b]
    .filter(each => each !== undefined)
    .toSorted()
    .at(-1) ?? null

/** Current boot stage, with the controller's message if there is one. */
export function bootText(worker: Worker): string {
  const waiting = bootStages(worker).find(stage => stage.state === 'now')
  return waiting?.message || bootStage(worker.conditions) || 'ready, verifying stability'
}

const isStage = (type: string): boolean => BOOT_CONDITIONS.some(stage => stage === type)
export const otherConditions = (worker: Worker): Condition[] =>
  worker.conditions.filter(condition => !isStage(condition.type))
