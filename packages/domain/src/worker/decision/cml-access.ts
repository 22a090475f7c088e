import { toInstant } from '../../instant.ts'
import { withoutCondition } from '../boot.ts'
import { CML_PARTS, type CmlAccess, type CmlPart, type CmlRefusal, type Seen } from '../observation.ts'
import { isTrusted, NOT_LAUNCHED } from '../trust.ts'
import { CONDITION, type Condition, type Worker } from '../worker.ts'
import { announce, type Decision } from './decision.ts'

/** The reason of the condition, by part. */
export const CML_REASONS: Readonly<Record<CmlPart, string>> = {
  credentials: 'NoCredentials',
  login: 'LoginRefused',
  telemetry: 'TelemetryRefused',
  telemetry_off: 'TelemetryOff',
  system_stats: 'SystemStatsRefused',
  system_health: 'SystemHealthRefused',
  node_definitions: 'NodeDefinitionsRefused',
  licensing: 'LicensingRefused',
}

/** Whether something is broken. Otherwise a person has not set it up, or turned it off: worth a warning, since it costs money. */
export const isFault = (part: CmlPart): boolean => part !== 'credentials' && part !== 'telemetry_off'
export const FAULT_REASONS: readonly string[] = CML_PARTS.filter(isFault).map(part => CML_REASONS[part])

const WORDS: Readonly<Record<CmlPart, string>> = {
  credentials: 'LCM has no credentials for its CML',
  login: "CML refuses LCM's login",
  telemetry: 'CML refuses to show its telemetry',
  telemetry_off: 'telemetry is turned off in its CML',
  system_stats: 'CML refuses to show its load',
  system_health: 'CML refuses to show its health',
  node_definitions: 'CML refuses to list its node definitions',
  licensing: 'CML refuses to show its license',
}

/** What CML refuses, such as `CML refuses LCM's login`. */
export const refusalWords = (part: CmlPart): string => WORDS[part]

const CONSEQUENCES: Readonly<Record<CmlPart, string>> = {
  credentials: "LCM can't measure this worker, start labs on it, or judge whether it is idle",
  login: "LCM can't measure this worker, start labs on it, or judge whether it is idle",
  telemetry: "LCM can't judge whether this worker is idle",
  telemetry_off: "LCM can't judge whether this worker is idle, and so does not stop it",
  system_stats: "LCM can't measure this worker",
  system_health: "LCM can't see the health of its CML",
  node_definitions: "LCM doesn't know which labs it can run",
  licensing: "LCM can't see or return its license",
}

function nextStep(part: CmlPart, { id }: Worker): string {
  const command = `\`lcm set credentials ${id}\``
  if (part === 'credentials') return `Set them with ${command}`
  if (part === 'telemetry_off') return 'Turn it on in CML, or turn idle_detection_enabled of this worker off'
  if (part === 'login') return `Set the right credentials with ${command}, or correct CML_DEFAULT_PASSWORD`
  return `Check that the CML account of LCM has admin rights, or set another account with ${command}`
}

function messageOf(part: CmlPart, worker: Worker, { message }: CmlRefusal): string {
  const said = part === 'credentials' && !isTrusted(worker) ? NOT_LAUNCHED : isFault(part) ? message : ''
  const words = said === '' ? '' : ` (${said})`
  return `${refusalWords(part)}${words}: ${CONSEQUENCES[part]}. ${nextStep(part, worker)}`
}

/** CML accepts what it refused before, or LCM does not need it any more. */
export const NOT_REFUSED = 'CML no longer refuses what LCM needs'

/**
 * Says once that CML refuses what LCM needs, and takes it back only when CML has accepted that very part: silence proves
 * nothing, and neither does a new leader that has not asked yet.
 */
export function decideAccess({ worker, access }: Seen): Decision | null {
  const said = worker.conditions.find(({ type, status }) => type === CONDITION.cmlAccessRefused && status)
  const part = CML_PARTS.find(each => isRefused(each, access, said))
  const others = withoutCondition(worker.conditions, CONDITION.cmlAccessRefused)
  if (part === undefined) return said === undefined ? null : announce({ conditions: others }, NOT_REFUSED)
  const refusal = access[part]
  // CML may word its refusal differently each time; the reason is what counts.
  if (said?.reason === CML_REASONS[part] || refusal === undefined || refusal === 'accepted') return null
  const message = messageOf(part, worker, refusal)
  const since = toInstant(refusal.sinceMs)
  const condition = { type: CONDITION.cmlAccessRefused, status: true, reason: CML_REASONS[part], message, since }
  return announce({ conditions: [...others, condition] }, refusalWords(part))
}

const isRefused = (part: CmlPart, access: CmlAccess, said: Condition | undefined): boolean =>
  access[part] === undefined ? said?.reason === CML_REASONS[part] : access[part] !== 'accepted'
