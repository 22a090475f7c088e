import type { CmlLab, NodeState } from './labs/lab.ts'
import type { CmlServer } from './server-state.ts'

export interface TelemetryEvent {
  readonly category: string
  readonly at_ms: number
  readonly data: Readonly<Record<string, unknown>>
}

/** Activity of one user is recorded at most once per this many simulated seconds. */
export const ACTIVITY_EVERY_S = 60

/** CML truncates its log at this many events, a twentieth at a time. */
export const EVENTS_MAX = 10_000
export const CHUNK_EVENTS_MAX = 125
export const CHUNKS_MAX = EVENTS_MAX / CHUNK_EVENTS_MAX
export const CHUNKS_CUT = CHUNKS_MAX / 20

export function userActivity(server: CmlServer, userId: string, at: { nowMs: number; everyMs: number }) {
  const last = server.active_ms[userId]
  if (last !== undefined && at.nowMs - last < at.everyMs) return null
  return {
    server: { ...server, active_ms: { ...server.active_ms, [userId]: at.nowMs } },
    event: { category: 'user_activity', at_ms: at.nowMs, data: { user_id: userId } },
  }
}

const CATEGORY: Readonly<Record<NodeState, string>> = {
  QUEUED: 'queue_node',
  STARTED: 'start_node',
  BOOTED: 'boot_node',
  STOPPED: 'stop_node',
  DEFINED_ON_CORE: 'wipe_node',
}

/**
 * State changes of a lab's nodes up to now, as far as their timelines reach. The first entry is only the initial state. A server
 * that goes down writes no event of the nodes that it takes along.
 */
export function nodeEvents(lab: CmlLab, untilMs: number): readonly TelemetryEvent[] {
  return lab.nodes.flatMap(node =>
    node.timeline
      .filter(
        (moment, index) =>
          index > 0 &&
          moment.from_ms <= untilMs &&
          moment.isLost !== true &&
          moment.state !== node.timeline[index - 1]?.state,
      )
      .map(({ state, from_ms }) => ({
        category: CATEGORY[state],
        at_ms: from_ms,
        data: { lab_id: lab.id, node_id: node.id, node_definition: node.node_definition },
      })),
  )
}
