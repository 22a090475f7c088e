import type { LeadDefinition, LeadSettings, Timings } from '../calendar/timings.ts'
import type { SettingValues } from '../fleet/settings.ts'
import type { FreeSeats } from '../license/license-pool.ts'
import type { Placed } from '../session/demand.ts'
import type { LabletSession } from '../session/lablet-session.ts'
import type { WorkerTemplate } from '../template/worker-template.ts'
import type { Worker } from '../worker/worker.ts'
import type { Plan } from './plan.ts'

export type PlanSettings = LeadSettings &
  Pick<SettingValues, 'scale_up_enabled' | 'max_workers_per_region' | 'terminate_sleeping'>

/** What may still be spent on wakes and purchases within a time, such as today. */
export interface BudgetWindow {
  readonly fromMs: number
  readonly untilMs: number
  readonly leftUsd: number
}

/** What the plan reads of a session. */
export type PlanSession = Pick<
  LabletSession,
  | 'id'
  | 'created_at'
  | 'definition'
  | 'needs'
  | 'timeslot'
  | 'desired_status'
  | 'status'
  | 'entered_status_at'
  | 'worker_id'
  | 'state_history'
>

/** What the plan reads of a definition. */
export type PlanDefinition = LeadDefinition & Placed

export interface PlanInput {
  readonly nowMs: number
  /** Open sessions: those within the horizon, and those that are placed. */
  readonly sessions: readonly PlanSession[]
  readonly definitions: ReadonlyMap<string, PlanDefinition>
  readonly workers: readonly Worker[]
  readonly templates: readonly WorkerTemplate[]
  readonly settings: PlanSettings
  /** Where workers are bought. */
  readonly region: string
  readonly timings: Timings
  /** The plan before this one: what it has for the next minutes is kept. Null without one. */
  readonly previous: Plan | null
  /** Ids of the sessions whose capacity is not promised. */
  readonly bestEffort: ReadonlySet<string>
  /** Ids of the sessions that lost their lab within their timeslot. They come first. */
  readonly lost?: ReadonlySet<string>
  /** By product: the seats that no worker has. A product that is not in it has as many as are needed. */
  readonly licenses?: FreeSeats
  /** Ids of workers with labs that are not LCM's, which are never terminated. */
  readonly foreignLabs?: ReadonlySet<string>
  readonly budgets?: readonly BudgetWindow[]
  /** By worker: until when it stays on without sessions, whatever the plan says. */
  readonly keptUntil?: ReadonlyMap<string, number>
}
