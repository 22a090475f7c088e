import type { LabletDefinition } from '../definition/lablet-definition.ts'
import type { SettingValues } from '../fleet/settings.ts'
import type { PlanInput, PlanSettings } from '../plan/plan-input.ts'
import type { Reason } from '../reason.ts'
import type { LabletSession } from './lablet-session.ts'

export interface SchedulingInput
  extends Omit<PlanInput, 'settings' | 'sessions' | 'definitions' | 'lost' | 'bestEffort'> {
  readonly definitions: ReadonlyMap<string, LabletDefinition>
  /** Open sessions: those that wait, and those that hold capacity. */
  readonly sessions: readonly LabletSession[]
  readonly settings: PlanSettings & Pick<SettingValues, 'schedule_ahead_minutes'>
  /** By session id: why a session that has a lab leaves its worker as soon as another has capacity. */
  readonly leaving: ReadonlyMap<string, Reason>
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
  | { readonly kind: 'terminate'; readonly worker_id: string; readonly because: Reason }
  | { readonly kind: 'expire'; readonly session: LabletSession; readonly because: Reason }
