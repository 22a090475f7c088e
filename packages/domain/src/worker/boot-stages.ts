import { type Reason, reason } from '../reason.ts'
import { type Condition, holds, withCondition } from './worker.ts'

/** The stages of a CML server; each includes those before it. GATEWAY: nginx answers 502, the controller does not answer yet. */
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

/** How many boot conditions hold when a running machine's server has come to `stage`. */
export const bootReached = (stage: CmlStage): number => 1 + CML_STAGES.indexOf(stage)

/**
 * The worker's conditions with its boot at `reached`. Conditions that did not flip keep their `since`; other conditions stay.
 * `detail` is the error of the last probe.
 */
export function withBoot(conditions: readonly Condition[], reached: number, nowMs: number, detail = ''): Condition[] {
  const reasonOf = (stage: BootCondition, index: number): Reason => {
    if (index < reached) return reason('boot_stage_passed')
    return index === reached ? reason('boot_stage_waiting', { stage, detail }) : reason('boot_stage_pending')
  }
  const boot = BOOT_CONDITIONS.map((type, index) => ({ type, status: index < reached, reason: reasonOf(type, index) }))
  return boot.reduce((all, condition) => withCondition(all, condition, nowMs), [...conditions])
}

export const bootDiffers = (conditions: readonly Condition[], reached: number): boolean =>
  BOOT_CONDITIONS.some((type, index) => holds(conditions, type) !== index < reached)

/** What the boot waits for, as text; null once all its conditions hold. */
export function bootStage(conditions: readonly Condition[]): string | null {
  const missing = BOOT_CONDITIONS.find(type => !holds(conditions, type))
  return missing === undefined ? null : reason('boot_stage_waiting', { stage: missing, detail: '' }).message
}

/** How far a boot has come, what it waits for, and the error of the last probe. */
export function bootProgress(reached: number, detail: string): Reason {
  const missing = BOOT_CONDITIONS[reached]
  if (missing === undefined) return reason('cml_settling')
  return reason('boot_progress', { stage: reached + 1, stages: BOOT_CONDITIONS.length, waiting_for: missing, detail })
}
