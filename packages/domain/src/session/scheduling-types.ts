import type { Timings } from '../calendar/timings.ts'
import type { LabletDefinition } from '../definition/lablet-definition.ts'
import type { SettingValues } from '../fleet/settings.ts'
import type { FreeSeats } from '../license/license-pool.ts'
import type { Reason } from '../reason.ts'
import type { WorkerTemplate } from '../template/worker-template.ts'
import type { Worker } from '../worker/worker.ts'
import type { LabletSession } from './lablet-session.ts'

export interface SchedulingInput {
  /** All sessions that are not over: placed ones show when their capacity becomes free. */
  readonly sessions: readonly LabletSession[]
  readonly definitions: ReadonlyMap<string, LabletDefinition>
  readonly workers: readonly Worker[]
  readonly templates: readonly WorkerTemplate[]
  readonly settings: Pick<
    SettingValues,
    'schedule_ahead_minutes' | 'boot_lead_minutes' | 'scale_up_enabled' | 'max_workers_per_region'
  >
  readonly timings: Timings
  /** Free license seats by product. A product that is not in it has as many as are needed. */
  readonly licenses?: FreeSeats
  /** Where new workers are bought. */
  readonly region: string
  /** By session id: why a session that has a lab leaves its worker as soon as another has capacity. */
  readonly leaving: ReadonlyMap<string, Reason>
  readonly nowMs: number
}

export type SchedulingStep =
  | {
      readonly kind: 'assign'
      readonly session: LabletSession
      readonly worker_id: string
      readonly because: Reason
      /** Why it leaves the worker that it is on; null if it is PENDING. */
      readonly leaves: Reason | null
    }
  /** Why it is not placed; `forGood` if no machine that can be bought fits. */
  | { readonly kind: 'wait'; readonly session: LabletSession; readonly because: Reason; readonly forGood: boolean }
  | {
      readonly kind: 'resume'
      readonly worker_id: string
      readonly session_ids: readonly string[]
      readonly because: Reason
    }
  | {
      readonly kind: 'scale_up'
      readonly template_name: string
      readonly aws_region: string
      /** Purchases of one group wait for each other: the hour in which the sessions start. */
      readonly group: string
      readonly count: number
      readonly session_ids: readonly string[]
      readonly because: Reason
    }
  | { readonly kind: 'expire'; readonly session: LabletSession; readonly because: Reason }
