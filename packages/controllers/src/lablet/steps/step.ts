import type { Client } from '@lcm/client/client'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { toMs } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { Reason } from '@lcm/domain/reason'
import type { LabletSession, Step } from '@lcm/domain/session/lablet-session'
import type { StepOutcome, StepPlan } from '@lcm/domain/session/pipeline'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Election, Leadership } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { FencedLabs } from '../labs/fenced-labs.ts'
import type { LabletCounters } from '../report.ts'
import type { SaveQueue } from '../saves/save-queue.ts'

/** Everything that one step of a session may use. */
export interface StepContext {
  readonly client: Client
  readonly election: Election
  readonly counters: LabletCounters
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly epoch: number
  readonly leadership: Leadership
  readonly session: LabletSession
  readonly plan: StepPlan
  /** The step as it was announced. */
  readonly step: Step
  readonly worker: Worker | null
  readonly labs: FencedLabs
  readonly saves: SaveQueue
  /** Requests that this run of the step has sent to CML. Losing them repeats a request, which does no harm. */
  readonly asked: Set<string>
  definition(): Promise<LabletDefinition>
  /** The record of this session's lab on its worker; null when there is none. */
  record(): Promise<LabRecord | null>
  /** Labs of its worker have changed. */
  labsChanged(): void
}

export interface StepResult {
  readonly outcome: StepOutcome
  /** Access to write beside the outcome. */
  readonly access?: LabletSession['access']
  /** Progress of a step that is not finished. */
  readonly progress?: Step['output']
  /** Conditions to write beside the outcome. */
  readonly conditions?: LabletSession['conditions']
  /** The version that the session has after what the step wrote by itself. */
  readonly version?: number
}

export type RunStep = (context: StepContext) => Promise<StepResult>

export const completed = (output: Step['output'] = {}): StepResult => ({ outcome: { kind: 'completed', output } })
export const skipped = (why: string): StepResult => ({ outcome: { kind: 'skipped', output: { why } } })
export const again = (because: Reason): StepResult => ({ outcome: { kind: 'again', because } })
export const failed = (error: string, { definite }: { definite: boolean }): StepResult => ({
  outcome: { kind: 'failed', error: error.slice(0, 1000), definite },
})

/** A step that takes too long counts as failed. The number of failures is bounded. */
export const unlessLate = (context: StepContext, because: Reason): StepResult =>
  orLate(context, again(because), because)

/** The same for a cause outside the step. */
export const blockedUnlessLate = (context: StepContext, because: Reason): StepResult =>
  orLate(context, { outcome: { kind: 'blocked', because } }, because)

function orLate({ clock, step, plan, session }: StepContext, inTime: StepResult, because: Reason): StepResult {
  const elapsedMs = clock.now() - toMs(step.started_at ?? session.updated_at)
  return elapsedMs <= plan.timeoutMs
    ? inTime
    : failed(`after ${Math.round(elapsedMs / 60_000)} min: ${because.message}`, { definite: false })
}
