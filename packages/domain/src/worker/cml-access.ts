import { toInstant } from '../instant.ts'
import { withoutCondition } from './boot.ts'
import { announce, type Decision } from './decision.ts'
import type { Seen } from './observation.ts'
import { isTrusted, NOT_LAUNCHED } from './trust.ts'
import { CONDITION, type Condition, type Worker } from './worker.ts'

/**
 * What LCM needs of a worker's CML; the part whose refusal hurts most comes first. `credentials`: LCM has none that it may send,
 * so CML is not asked at all.
 */
export const CML_PARTS = [
  'credentials',
  'login',
  'telemetry',
  'system_stats',
  'system_health',
  'node_definitions',
  'licensing',
] as const
export type CmlPart = (typeof CML_PARTS)[number]

/** CML answered, and said no. Asking again does not help until a person changes something. */
export interface CmlRefusal {
  /** In CML's own words. */
  readonly message: string
  readonly sinceMs: number
}

/** What CML last answered, by part. A part that is missing was not asked, or did not answer: nothing is known of it. */
export type CmlAccess = Readonly<Partial<Record<CmlPart, 'accepted' | CmlRefusal>>>

/** The reason of the condition, by part. */
export const CML_REASONS: Readonly<Record<CmlPart, string>> = {
  credentials: 'NoCredentials',
  login: 'LoginRefused',
  telemetry: 'TelemetryRefused',
  system_stats: 'SystemStatsRefused',
  system_health: 'SystemHealthRefused',
  node_definitions: 'NodeDefinitionsRefused',
  licensing: 'LicensingRefused',
}

const NOUNS: Readonly<Record<Exclude<CmlPart, 'credentials'>, string>> = {
  login: "LCM's login",
  telemetry: 'to show its telemetry',
  system_stats: 'to show its load',
  system_health: 'to show its health',
  node_definitions: 'to list its node definitions',
  licensing: 'to show its license',
}

/** What CML refuses, such as `CML refuses LCM's login`. */
export const refusalWords = (part: CmlPart): string =>
  part === 'credentials' ? 'LCM has no credentials for its CML' : `CML refuses ${NOUNS[part]}`

const CONSEQUENCES: Readonly<Record<CmlPart, string>> = {
  credentials: "LCM can't measure this worker, start labs on it, or judge whether it is idle",
  login: "LCM can't measure this worker, start labs on it, or judge whether it is idle",
  telemetry: "LCM can't judge whether this worker is idle",
  system_stats: "LCM can't measure this worker",
  system_health: "LCM can't see the health of its CML",
  node_definitions: "LCM doesn't know which labs it can run",
  licensing: "LCM can't see or return its license",
}

function nextStep(part: CmlPart, { id }: Worker): string {
  const command = `\`lcm set credentials ${id}\``
  if (part === 'credentials') return `Set them with ${command}`
  if (part === 'login') return `Set the right credentials with ${command}, or correct CML_DEFAULT_PASSWORD`
  return `Check that the CML account of LCM has admin rights, or set another account with ${command}`
}

function messageOf(part: CmlPart, worker: Worker, { message }: CmlRefusal): string {
  const said = part === 'credentials' ? (isTrusted(worker) ? '' : NOT_LAUNCHED) : message
  const words = said === '' ? '' : ` (${said})`
  return `${refusalWords(part)}${words}: ${CONSEQUENCES[part]}. ${nextStep(part, worker)}`
}

/**
 * Says once that CML refuses what LCM needs, and takes it back only when CML has accepted that very part: silence proves
 * nothing, and neither does a new leader that has not asked yet.
 */
export function decideAccess({ worker, access }: Seen): Decision | null {
  const said = worker.conditions.find(({ type, status }) => type === CONDITION.cmlAccessRefused && status)
  const part = CML_PARTS.find(each => isRefused(each, access, said))
  const others = withoutCondition(worker.conditions, CONDITION.cmlAccessRefused)
  if (part === undefined)
    return said === undefined ? null : announce({ conditions: others }, 'CML accepts what it refused before')
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
