import { toInstant } from '../../instant.ts'
import { type Reason, type ReasonCode, reason } from '../../reason.ts'
import { CML_REFUSALS } from '../../text/reasons/worker-reasons.ts'
import { CML_PARTS, type CmlAccess, type CmlPart, type CmlRefusal, type Seen } from '../observation.ts'
import { CONDITION, type Condition, type Worker, withoutCondition } from '../worker.ts'
import { announce, type Decision } from './decision.ts'

/** The reason code of the condition, by part. */
export const CML_REASONS = {
  credentials: 'cml_credentials_missing',
  login: 'cml_login_refused',
  telemetry: 'cml_telemetry_refused',
  telemetry_off: 'cml_telemetry_off',
  system_stats: 'cml_system_stats_refused',
  system_health: 'cml_system_health_refused',
  node_definitions: 'cml_node_definitions_refused',
  licensing: 'cml_licensing_refused',
} as const satisfies Readonly<Record<CmlPart, ReasonCode>>

/** Whether something is broken. Otherwise an operator has not set it up, or turned it off: worth a warning, since it costs money. */
export const isFault = (part: CmlPart): boolean => part !== 'credentials' && part !== 'telemetry_off'
/** The reason codes of the faults. */
export const FAULT_REASONS: readonly string[] = CML_PARTS.filter(isFault).map(part => CML_REASONS[part])

/** What CML refuses, such as `CML refuses LCM's login`. */
export const refusalWords = (part: CmlPart): string => CML_REFUSALS[part]

/** The fix for a refusal of CML; null for any other reason. */
export function accessAdvice({ code, params }: Reason, worker = String(params.worker_id)): string | null {
  const part = CML_PARTS.find(each => CML_REASONS[each] === code)
  if (part === undefined) return null
  const command = `\`lcm set credentials ${worker}\``
  if (part === 'credentials') return `set the CML account with ${command}`
  if (part === 'telemetry_off') return 'turn on telemetry in CML, or turn off idle detection for this worker'
  if (part === 'login') return `set the right CML account with ${command}, or correct CML_DEFAULT_PASSWORD`
  return `give the CML account of LCM admin rights, or set another one with ${command}`
}

const reasonOf = (part: CmlPart, worker: Worker, { message }: CmlRefusal): Reason =>
  reason(CML_REASONS[part], {
    worker_id: worker.id,
    error: isFault(part) ? message : null,
  })

/** CML accepts what it refused before, or LCM does not need it any more. */
export const NOT_REFUSED = reason('cml_access_restored').message

/**
 * Sets the condition once when CML refuses what LCM needs, and removes it only when CML has accepted that very part: silence
 * proves nothing, and neither does a new leader that has not asked yet.
 */
export function decideAccess({ worker, access }: Seen): Decision | null {
  const known = worker.conditions.find(({ type, status }) => type === CONDITION.cmlAccessRefused && status)
  const part = CML_PARTS.find(each => isRefused(each, access, known))
  const others = withoutCondition(worker.conditions, CONDITION.cmlAccessRefused)
  if (part === undefined)
    return known === undefined ? null : announce({ conditions: others }, reason('cml_access_restored'))
  const refusal = access[part]
  // CML may word its refusal differently each time; only the code counts.
  if (known?.reason.code === CML_REASONS[part] || refusal === undefined || refusal === 'accepted') return null
  const because = reasonOf(part, worker, refusal)
  const since = toInstant(refusal.sinceMs)
  const condition = { type: CONDITION.cmlAccessRefused, status: true, reason: because, since }
  return announce({ conditions: [...others, condition] }, because)
}

const isRefused = (part: CmlPart, access: CmlAccess, known: Condition | undefined): boolean =>
  access[part] === undefined ? known?.reason.code === CML_REASONS[part] : access[part] !== 'accepted'
