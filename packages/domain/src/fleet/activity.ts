import { type Instant, readInstant } from '../instant.ts'

/** What people do. Everything else in a server's telemetry is the server's own doing. */
export const ACTIVITY_CATEGORIES: readonly string[] = [
  'start_lab',
  'stop_lab',
  'import_lab',
  'export_lab',
  'start_node',
  'stop_node',
  'queue_node',
  'boot_node',
  'wipe_node',
  'packet_capture',
  'user_activity',
]

/** More than anybody reads; the newest are kept. */
const EVENTS_MAX = 100
const CHARS_MAX = { category: 64, detail: 200 } as const

export interface ServerTelemetry {
  readonly own_user_id: string | null
  readonly is_collected: boolean
  readonly events: readonly { readonly category: string; readonly at: string; readonly user_id: string | null }[]
}

export interface ActivityEvidence {
  readonly last_activity_at: Instant | null
  readonly running_nodes: number | null
  readonly events: readonly { at: Instant; category: string; detail: string }[]
}

/**
 * What a server's telemetry says of people. Null when it collects none, which is never taken for idleness. Our own calls are
 * left out, or asking would keep every server awake.
 */
export function evidenceOf(telemetry: ServerTelemetry, runningNodes: number | null): ActivityEvidence | null {
  if (!telemetry.is_collected) return null
  const events = telemetry.events
    .filter(({ category, user_id }) => ACTIVITY_CATEGORIES.includes(category) && !isOwn(user_id, telemetry.own_user_id))
    .flatMap(({ category, at, user_id }) => {
      const when = readInstant(at)
      const detail = user_id === null ? '' : `user ${user_id}`
      // One event that can't be dated must not hide the others.
      return when === null
        ? []
        : [{ at: when, category: category.slice(0, CHARS_MAX.category), detail: detail.slice(0, CHARS_MAX.detail) }]
    })
    .sort((a, b) => (a.at < b.at ? -1 : 1))
  return {
    last_activity_at: events.at(-1)?.at ?? null,
    running_nodes: runningNodes,
    events: events.slice(-EVENTS_MAX),
  }
}

const isOwn = (userId: string | null, ownUserId: string | null): boolean => userId !== null && userId === ownUserId
