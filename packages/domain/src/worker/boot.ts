import { toInstant } from '../instant.ts'
import type { Condition } from './worker.ts'

/** How far a CML server has come, each step proving those before it. GATEWAY: nginx answers 502, the controller does not yet. */
export const CML_STAGES = ['NOTHING', 'TCP', 'TLS', 'GATEWAY', 'API', 'READY'] as const
export type CmlStage = (typeof CML_STAGES)[number]

/** The stages of a boot, in order, as conditions of a worker. */
export const BOOT_CONDITIONS = [
  'InstanceRunning',
  'TcpReachable',
  'TlsEstablished',
  'GatewayAnswers',
  'ApiAnswers',
  'CmlReady',
] as const
export type BootCondition = (typeof BOOT_CONDITIONS)[number]

const BOOT_WAITS: Readonly<Record<BootCondition, string>> = {
  InstanceRunning: 'waiting for EC2 to say running',
  TcpReachable: 'waiting for the CML port to open',
  TlsEstablished: 'waiting for the CML web server to speak TLS',
  GatewayAnswers: 'waiting for the CML web server to answer',
  ApiAnswers: 'waiting for the CML controller behind the web server',
  CmlReady: 'waiting for CML to say that it is ready',
}

/** How many boot conditions hold when a running machine's server has come to `stage`. */
export const bootReached = (stage: CmlStage): number => 1 + CML_STAGES.indexOf(stage)

/**
 * The worker's conditions with its boot at `reached`. What did not flip keeps its `since`; other conditions stay. `detail` is
 * what the server itself let us see of what is in the way.
 */
export function withBoot(conditions: readonly Condition[], reached: number, nowMs: number, detail = ''): Condition[] {
  const waits = (type: BootCondition) => (detail === '' ? BOOT_WAITS[type] : `${BOOT_WAITS[type]}: ${detail}`)
  const boot = BOOT_CONDITIONS.map((type, index) =>
    index < reached
      ? { type, status: true, reason: 'Passed', message: '' }
      : { type, status: false, reason: 'Waiting', message: index === reached ? waits(type) : '' },
  )
  return boot.reduce((all, condition) => withCondition(all, condition, nowMs), [...conditions])
}

export const bootDiffers = (conditions: readonly Condition[], reached: number): boolean =>
  BOOT_CONDITIONS.some((type, index) => holds(conditions, type) !== index < reached)

/** What the boot waits for, in words; null once nothing is missing. */
export function bootStage(conditions: readonly Condition[]): string | null {
  const missing = BOOT_CONDITIONS.find(type => !holds(conditions, type))
  return missing === undefined ? null : BOOT_WAITS[missing]
}

/** How far a boot has come, what it waits for, and what the server let us see of what is in the way. */
export function bootWords(reached: number, detail: string): string {
  const missing = BOOT_CONDITIONS[reached]
  if (missing === undefined) return 'CML is ready and must stay so for a moment'
  const words = `its boot is at stage ${reached + 1} of ${BOOT_CONDITIONS.length}, ${BOOT_WAITS[missing]}`
  return detail === '' ? words : `${words}: ${detail}`
}

export const holds = (conditions: readonly Condition[], type: string): boolean =>
  conditions.some(condition => condition.type === type && condition.status)

/** Sets one condition. `since` moves only when the status flips, so it tells for how long it has been so. */
export function withCondition(
  conditions: readonly Condition[],
  next: Omit<Condition, 'since'>,
  nowMs: number,
): Condition[] {
  const before = conditions.find(condition => condition.type === next.type)
  const since = before?.status === next.status ? before.since : toInstant(nowMs)
  const condition = { ...next, since }
  return before ? conditions.map(each => (each === before ? condition : each)) : [...conditions, condition]
}

export const withoutCondition = (conditions: readonly Condition[], type: string): Condition[] =>
  conditions.filter(condition => condition.type !== type)
