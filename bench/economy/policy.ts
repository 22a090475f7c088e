import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { Reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'

/** Policies see bookings so long before their slot. */
export const HORIZON_MS = 48 * 3_600_000

/** What a policy decides by: only what LCM knows at that moment, in the documents of the product. */
export interface FleetView {
  readonly nowMs: number
  readonly template: WorkerTemplate
  /** All that were bought, in the order of purchase. */
  readonly workers: readonly Worker[]
  /** Booked, starting within the horizon, and not over: PENDING until they are placed. */
  readonly sessions: readonly OpenSession[]
  readonly definitions: ReadonlyMap<string, LabletDefinition>
  /** In the order in which they ended. */
  readonly boots: readonly Boot[]
  /** By definition id: how long its past labs took until they were READY. */
  readonly labStartsMs: ReadonlyMap<string, readonly number[]>
  /** How long the removal of past labs took. */
  readonly teardownsMs: readonly number[]
}

export interface OpenSession {
  readonly session: LabletSession
  readonly bookedMs: number
  readonly startMs: number
  readonly endMs: number
}

export interface Boot {
  readonly worker_id: string
  readonly startedMs: number
  /** From its start by EC2 until CML served. */
  readonly ms: number
  /** New machines take longer. */
  readonly isFirst: boolean
}

export type Order =
  /** Reserves capacity on a worker that serves, and starts the lab at that time. */
  | { readonly kind: 'assign'; readonly session_id: string; readonly worker_id: string; readonly labStartMs: number }
  | { readonly kind: 'buy'; readonly worker_id: string; readonly session_ids: readonly string[] }
  | { readonly kind: 'wake'; readonly worker_id: string; readonly session_ids: readonly string[] }
  /** Refused for a worker that has sessions. */
  | { readonly kind: 'stop'; readonly worker_id: string; readonly because: Reason }

export interface Decision {
  readonly orders: readonly Order[]
  /** When to decide again at the latest, even if nothing happens before. */
  readonly nextMs: number
}

export interface Policy {
  readonly name: string
  /** Runs after everything that happened at one moment, and at the time that it asked for. */
  readonly decide: (view: FleetView) => Decision
}
