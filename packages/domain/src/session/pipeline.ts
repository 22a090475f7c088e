import { type Instant, toMs } from '../instant.ts'
import type { Reason } from '../reason.ts'
import { type Pipeline, type Step, UNTOUCHED } from './lablet-session.ts'

/** One step of a fixed pipeline. It acts or reads, and never waits. */
export interface StepPlan {
  readonly name: string
  readonly needs: readonly string[]
  /** Timeout of each attempt. */
  readonly timeoutMs: number
  /** Number of attempts. */
  readonly attemptsMax: number
  /** The pipeline continues without it when it fails. */
  readonly isOptional?: boolean
}

const MINUTE_MS = 60_000
/** A lab is torn down after this time even if its work is not saved yet. */
export const FINAL_SAVE_MS = MINUTE_MS

export const PIPELINE_STEPS: Readonly<Record<Pipeline['name'], readonly StepPlan[]>> = {
  instantiate: [
    { name: 'lab_resolve', needs: [], timeoutMs: 5 * MINUTE_MS, attemptsMax: 3 },
    { name: 'bind', needs: ['lab_resolve'], timeoutMs: MINUTE_MS, attemptsMax: 3 },
    { name: 'ports_alloc', needs: ['bind'], timeoutMs: MINUTE_MS, attemptsMax: 3 },
    { name: 'tags', needs: ['ports_alloc'], timeoutMs: 2 * MINUTE_MS, attemptsMax: 3 },
    { name: 'lab_start', needs: ['tags'], timeoutMs: 2 * MINUTE_MS, attemptsMax: 3 },
    { name: 'converged', needs: ['lab_start'], timeoutMs: 30 * MINUTE_MS, attemptsMax: 1 },
    { name: 'mark_ready', needs: ['converged'], timeoutMs: MINUTE_MS, attemptsMax: 3 },
  ],
  teardown: [
    { name: 'save', needs: [], timeoutMs: FINAL_SAVE_MS, attemptsMax: 1, isOptional: true },
    { name: 'stop', needs: ['save'], timeoutMs: 10 * MINUTE_MS, attemptsMax: 5 },
    { name: 'wipe', needs: ['stop'], timeoutMs: 5 * MINUTE_MS, attemptsMax: 5 },
    { name: 'delete', needs: ['wipe'], timeoutMs: 5 * MINUTE_MS, attemptsMax: 5 },
    { name: 'release', needs: ['delete'], timeoutMs: MINUTE_MS, attemptsMax: 10 },
    { name: 'archive', needs: ['release'], timeoutMs: MINUTE_MS, attemptsMax: 10 },
  ],
}

export const newPipeline = (name: Pipeline['name'], attempt: number): Pipeline => ({
  name,
  attempt,
  steps: Object.fromEntries(PIPELINE_STEPS[name].map(step => [step.name, UNTOUCHED])),
})

export type NextStep =
  /** Announces the step; the next reconcile performs it. */
  | { readonly kind: 'begin'; readonly step: StepPlan }
  | { readonly kind: 'carry_out'; readonly step: StepPlan }
  /** It failed and is retried later. */
  | { readonly kind: 'rest'; readonly step: StepPlan; readonly afterMs: number }
  | { readonly kind: 'failed'; readonly step: StepPlan; readonly error: string }
  | { readonly kind: 'done' }

export const nextStep = ({ name, steps }: Pipeline, nowMs: number): NextStep =>
  nextOf(plansWith(PIPELINE_STEPS[name], steps), steps, nowMs)

/** Output of `lab_start`: how long CML waits for the slowest node of the lab. */
export const BOOT_SECONDS = 'boot_s'
/** Nodes wait for each other's CPUs before they boot at all. */
const QUEUE_MS = 15 * MINUTE_MS

/** The steps, with as much time for a lab to start as its nodes may take. */
function plansWith(plans: readonly StepPlan[], steps: Pipeline['steps']): readonly StepPlan[] {
  const boot = steps.lab_start?.output[BOOT_SECONDS]
  if (typeof boot !== 'number') return plans
  const timeoutMs = boot * 1000 + QUEUE_MS
  return plans.map(plan => (plan.name === 'converged' && plan.timeoutMs < timeoutMs ? { ...plan, timeoutMs } : plan))
}

/** The next step. A step that was not reached is still pending; only completed and skipped steps are passed over. */
export function nextOf(plans: readonly StepPlan[], steps: Pipeline['steps'], nowMs: number): NextStep {
  for (const plan of plans) {
    const step = steps[plan.name] ?? UNTOUCHED
    if (step.status === 'completed' || step.status === 'skipped') continue
    const error = failureOf(step, plan, nowMs)
    if (error !== null) {
      if (plan.isOptional === true) continue
      return { kind: 'failed', step: plan, error }
    }
    if (isUnderWay(step) && !isLate(step, plan, nowMs)) return { kind: 'carry_out', step: plan }
    const afterMs = restMs(step, nowMs)
    return afterMs > 0 ? { kind: 'rest', step: plan, afterMs } : { kind: 'begin', step: plan }
  }
  return { kind: 'done' }
}

/** Why a step has failed; null while it may be tried. An attempt that times out counts. */
function failureOf(step: Step, plan: StepPlan, nowMs: number): string | null {
  if (step.status === 'failed') return step.error ?? 'the step failed'
  if (!isLate(step, plan, nowMs) || step.attempts < plan.attemptsMax) return null
  return step.error ?? `timed out after ${plan.timeoutMs / MINUTE_MS} min`
}

/** The controller that runs the step gets this long to time it out itself, since only it knows what the step waited for. */
const JUDGE_MS = MINUTE_MS

const isLate = (step: Step, plan: StepPlan, nowMs: number): boolean =>
  isUnderWay(step) && step.started_at !== null && nowMs - toMs(step.started_at) > plan.timeoutMs + JUDGE_MS

/** A step that was blocked before it started is not in progress. */
const isUnderWay = ({ status, started_at }: Step): boolean =>
  status === 'running' || (status === 'blocked' && started_at !== null)

/** The backoff grows with every attempt, so that a short outage of CML does not fail the step. */
const REST_MS = 10_000

const restMs = (step: Step, nowMs: number): number =>
  step.status !== 'pending' || step.ended_at === null ? 0 : toMs(step.ended_at) + REST_MS * step.attempts - nowMs

/** The outcome of a step. */
export type StepOutcome =
  | { readonly kind: 'completed' | 'skipped'; readonly output?: Step['output'] }
  /** It is in progress, or its state is not known: check again. */
  | { readonly kind: 'again'; readonly because: Reason }
  /** It waits for something that it can't influence. Its timeout keeps running. */
  | { readonly kind: 'blocked'; readonly because: Reason }
  /** It failed and may be retried; `definite` if a retry can't help. */
  | { readonly kind: 'failed'; readonly error: string; readonly definite: boolean }

export const begun = (pipeline: Pipeline, { name }: StepPlan, now: Instant): Pipeline => {
  const step = pipeline.steps[name] ?? UNTOUCHED
  const error = step.status === 'blocked' ? null : step.error
  const attempts = step.attempts + 1
  const running: Step = { ...step, status: 'running', attempts, started_at: now, ended_at: null, error }
  return { ...pipeline, steps: { ...pipeline.steps, [name]: running } }
}

/**
 * The pipeline with a step that can't start before something else has happened. It costs no attempt and its timeout does not
 * run; null if the step is recorded as blocked by this already.
 */
export function blocked(pipeline: Pipeline, { name }: StepPlan, because: Reason): Pipeline | null {
  const step = pipeline.steps[name] ?? UNTOUCHED
  const attempts = isUnderWay(step) ? Math.max(0, step.attempts - 1) : step.attempts
  return withStep(pipeline, name, { ...asBlocked(step, because), attempts, started_at: null, ended_at: null })
}

const asBlocked = (step: Step, because: Reason): Step => ({ ...step, status: 'blocked', error: because.message })

/** The pipeline with this record of the step; null if it has this record already. */
function withStep(pipeline: Pipeline, name: string, step: Step): Pipeline | null {
  const isSame = JSON.stringify(pipeline.steps[name] ?? UNTOUCHED) === JSON.stringify(step)
  return isSame ? null : { ...pipeline, steps: { ...pipeline.steps, [name]: step } }
}

/** The pipeline with this step and all after it still to be done, and those before it as they are. */
export function startedOver(pipeline: Pipeline, from: string): Pipeline {
  const plans = PIPELINE_STEPS[pipeline.name]
  const reset = plans.slice(plans.findIndex(({ name }) => name === from)).map(({ name }) => [name, UNTOUCHED])
  return { ...pipeline, attempt: pipeline.attempt + 1, steps: { ...pipeline.steps, ...Object.fromEntries(reset) } }
}

/** The pipeline with the outcome of the step; null if there is nothing to write. */
export function concluded(pipeline: Pipeline, plan: StepPlan, outcome: StepOutcome, now: Instant): Pipeline | null {
  const step = pipeline.steps[plan.name] ?? UNTOUCHED
  const put = (changed: Step): Pipeline => ({ ...pipeline, steps: { ...pipeline.steps, [plan.name]: changed } })
  switch (outcome.kind) {
    case 'again':
      return step.status === 'blocked' ? put({ ...step, status: 'running', error: null }) : null
    case 'blocked':
      return withStep(pipeline, plan.name, asBlocked(step, outcome.because))
    case 'completed':
    case 'skipped':
      return put({ ...step, status: outcome.kind, ended_at: now, error: null, output: outcome.output ?? step.output })
    case 'failed':
      // Pending again, with one attempt counted: the next reconciliation starts it again.
      if (!outcome.definite && step.attempts < plan.attemptsMax)
        return put({ ...step, status: 'pending', ended_at: now, error: outcome.error })
      return put({ ...step, status: 'failed', ended_at: now, error: outcome.error })
  }
}
