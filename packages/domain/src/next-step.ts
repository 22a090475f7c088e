import { type Instant, toMs } from './instant.ts'
import { type Reason, reason } from './reason.ts'
import { LEADER_SILENT_MS } from './service-instance.ts'

/**
 * What keeps a resource from its desired status. `wait`: it ends by itself, such as a boot. `block`: it does not, or its end
 * can't be foreseen.
 */
export interface Blockage {
  readonly kind: 'wait' | 'block'
  /** The type of a condition where there is one. */
  readonly code: string
  readonly reason: Reason
  readonly since: Instant
}

/** The code of a request that the controller has not decided about yet. */
export const NOT_DECIDED_YET = 'NotDecidedYet'

/** What happens next to a resource, as data; `nextText` renders it. */
export interface Next<Code extends string = string> {
  /** `idle` only while every request is fulfilled. */
  readonly next: Code
  readonly params: Readonly<Record<string, string>>
  readonly blocked_by: Blockage | null
  /** Since when it is blocked; null where nothing blocks it. */
  readonly since: Instant | null
  /** When it is checked or tried again; null where that is not known. */
  readonly due_at: Instant | null
}

/** The replicas of one service. */
export interface ServiceState {
  readonly service: string
  readonly leader: { readonly instance_id: string } | null
  /** Replicas with a recent heartbeat. */
  readonly instances: readonly { readonly instance_id: string; readonly seen_at: Instant }[]
  /** The newest leadership. */
  readonly term: { readonly updated_at: Instant } | null
  /** When any replica last sent a heartbeat; null if none ever did. */
  readonly last_seen_at: Instant | null
}

/** Why the service can't act at all; null while its leader sends heartbeats. `lastActAt`: its latest known action. */
export function controllerBlockage(state: ServiceState | null, lastActAt: Instant, nowMs: number): Blockage | null {
  if (state === null) return null
  const { service, leader, instances } = state
  const block = (code: string, because: Reason, since: Instant): Blockage => ({
    kind: 'block',
    code,
    reason: because,
    since,
  })
  if (instances.length === 0)
    return block('ControllerDown', reason('controller_down', { service }), state.last_seen_at ?? lastActAt)
  const replica = instances.find(({ instance_id }) => instance_id === leader?.instance_id)
  if (replica === undefined)
    return block(
      'NoLeader',
      reason('controller_without_leader', { service }),
      latest(state.term?.updated_at, lastActAt),
    )
  if (nowMs - toMs(replica.seen_at) > LEADER_SILENT_MS)
    return block('ControllerSilent', reason('controller_silent', { service }), replica.seen_at)
  return null
}

const latest = (a: Instant | undefined, b: Instant): Instant => (a !== undefined && a > b ? a : b)

/** The parts of a sentence, so that each reader can lay them out. */
export interface NextWords {
  readonly nowMs: number
  readonly duration: (ms: number) => string
}

const withoutPeriod = (text: string): string => text.replace(/[\s.]+$/, '')

/** One line: what happens, what blocks it and for how long, and when it is tried again. `isDated` if it happens at a known time. */
export function renderNext(
  what: string,
  { next, blocked_by: blockedBy, due_at: dueAt }: Next,
  { nowMs, duration }: NextWords,
  isDated: boolean,
): string {
  const dueMs = dueAt === null ? 0 : toMs(dueAt) - nowMs
  const parts = [dueMs > 0 && isDated ? `${what} in ${duration(dueMs)}` : what]
  if (blockedBy !== null) {
    const age = duration(nowMs - toMs(blockedBy.since))
    const message = withoutPeriod(blockedBy.reason.message)
    if (next === 'idle') parts.push(`problem for ${age}: ${message}`)
    else if (next === 'lost') parts.push(`${age} ago: ${message}`)
    else parts.push(blockedBy.kind === 'block' ? `blocked for ${age}: ${message}` : `for ${age} now: ${message}`)
  }
  if (dueMs > 0 && !isDated) parts.push(`next check in ${duration(dueMs)}`)
  return parts.join('; ')
}
