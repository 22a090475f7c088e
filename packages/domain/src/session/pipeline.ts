import { type Instant, toMs } from '../instant.ts'
import { type Pipeline, type Step, UNTOUCHED } from './lablet-session.ts'

/** One step of a fixed pipeline. It acts or looks, and never waits. */
export interface StepPlan {
  readonly name: string
  readonly needs: readonly string[]
  /** For each try. */
  readonly timeoutMs: number
  /** How often it may be tried. */
  readonly attemptsMax: number
  /** The pipeline goes on without it when it fails. */
  readonly isOptional?: boolean
}

const MINUTE_MS = 60_000

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
    { name: 'stop', needs: [], timeoutMs: 10 * MINUTE_MS, attemptsMax: 5 },
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
  /** Announce that it runs; the next look carries it out. */
  | { readonly kind: 'begin'; readonly step: StepPlan }
  | { readonly kind: 'carry_out'; readonly step: StepPlan }
  /** It failed a moment ago and is tried again later. */
  | { readonly kind: 'rest'; readonly step: StepPlan; readonly afterMs: number }
  | { readonly kind: 'failed'; readonly step: StepPlan; readonly error: string }
  | { readonly kind: 'done' }

export const nextStep = ({ name, steps }: Pipeline, nowMs: number): NextStep =>
  nextOf(plansWith(PIPELINE_STEPS[name], steps), steps, nowMs)

/** What `lab_start` found out: how long CML waits for the slowest node of the lab. */
export const BOOT_SECONDS = 'boot_s'
/** Nodes wait for each other's CPUs before they boot at all. */
const QUEUE_MS = 15 * MINUTE_MS

/** The steps, with as much time for a lab to come up as its nodes may take. */
function plansWith(plans: readonly StepPlan[], steps: Pipeline['steps']): readonly StepPlan[] {
  const boot = steps.lab_start?.output[BOOT_SECONDS]
  if (typeof boot !== 'number') return plans
  const timeoutMs = boot * 1000 + QUEUE_MS
  return plans.map(plan => (plan.name === 'converged' && plan.timeoutMs < timeoutMs ? { ...plan, timeoutMs } : plan))
}

/** What comes next. A step that was not reached is still pending: only what completed, or was skipped on purpose, is behind us. */
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

/** Why it can't be tried any more; null while it can. A try that takes too long is a try. */
function failureOf(step: Step, plan: StepPlan, nowMs: number): string | null {
  if (step.status === 'failed') return step.error ?? 'it failed'
  if (!isLate(step, plan, nowMs) || step.attempts < plan.attemptsMax) return null
  return step.error ?? `it took more than ${plan.timeoutMs / MINUTE_MS} min`
}

/** The controller that runs the step gets this long to time it out itself, since only it knows what the step waited for. */
const JUDGE_MS = MINUTE_MS

const isLate = (step: Step, plan: StepPlan, nowMs: number): boolean =>
  isUnderWay(step) && step.started_at !== null && nowMs - toMs(step.started_at) > plan.timeoutMs + JUDGE_MS

/** What was blocked before it began has not begun. */
const isUnderWay = ({ status, started_at }: Step): boolean =>
  status === 'running' || (status === 'blocked' && started_at !== null)

/** Longer after every try, so that a server that stumbles is not given up within seconds. */
const REST_MS = 10_000

const restMs = (step: Step, nowMs: number): number =>
  step.status !== 'pending' || step.ended_at === null ? 0 : toMs(step.ended_at) + REST_MS * step.attempts - nowMs

/** What a step came to. */
export type StepOutcome =
  | { readonly kind: 'completed' | 'skipped'; readonly output?: Step['output'] }
  /** It is under way, or nobody could say: look again. */
  | { readonly kind: 'again'; readonly because: string }
  /** It can't go on before something else has happened, which is not in its own hands. Its time runs on. */
  | { readonly kind: 'blocked'; readonly because: string }
  /** It went wrong and may be tried again; `definite` when that would be of no use. */
  | { readonly kind: 'failed'; readonly error: string; readonly definite: boolean }

export const begun = (pipeline: Pipeline, { name }: StepPlan, now: Instant): Pipeline => {
  const step = pipeline.steps[name] ?? UNTOUCHED
  const error = step.status === 'blocked' ? null : step.error
  const attempts = step.attempts + 1
  const running: Step = { ...step, status: 'running', attempts, started_at: now, ended_at: null, error }
  return { ...pipeline, steps: { ...pipeline.steps, [name]: running } }
}

/**
 * The pipeline with a step that can't even begin before something else has happened. No try of it is lost and its time does not
 * run; null when it says so already.
 */
export function blocked(pipeline: Pipeline, { name }: StepPlan, because: string): Pipeline | null {
  const step = pipeline.steps[name] ?? UNTOUCHED
  if (step.status === 'blocked' && step.started_at === null && step.error === because) return null
  const attempts = isUnderWay(step) ? Math.max(0, step.attempts - 1) : step.attempts
  const held: Step = { ...step, status: 'blocked', attempts, started_at: null, ended_at: null, error: because }
  return { ...pipeline, steps: { ...pipeline.steps, [name]: held } }
}

/** The pipeline with this step and all after it still to be done, and those before it as they are. */
export function startedOver(pipeline: Pipeline, from: string): Pipeline {
  const plans = PIPELINE_STEPS[pipeline.name]
  const anew = plans.slice(plans.findIndex(({ name }) => name === from)).map(({ name }) => [name, UNTOUCHED])
  return { ...pipeline, attempt: pipeline.attempt + 1, steps: { ...pipeline.steps, ...Object.fromEntries(anew) } }
}

/** The pipeline with what the step came to; null when there is nothing to write. */
export function concluded(pipeline: Pipeline, plan: StepPlan, outcome: StepOutcome, now: Instant): Pipeline | null {
  const step = pipeline.steps[plan.name] ?? UNTOUCHED
  const put = (changed: Step): Pipeline => ({ ...pipeline, steps: { ...pipeline.steps, [plan.name]: changed } })
  switch (outcome.kind) {
    case 'again':
      return step.status === 'blocked' ? put({ ...step, status: 'running', error: null }) : null
    case 'blocked':
      if (step.status === 'blocked' && step.error === outcome.because) return null
      return put({ ...step, status: 'blocked', error: outcome.because })
    case 'completed':
    case 'skipped':
      return put({ ...step, status: outcome.kind, ended_at: now, error: null, output: outcome.output ?? step.output })
    case 'failed':
      // Pending again, and counted: the next look begins it anew.
      if (!outcome.definite && step.attempts < plan.attemptsMax)
        return put({ ...step, status: 'pending', ended_at: now, error: outcome.error })
      return put({ ...step, status: 'failed', ended_at: now, error: outcome.error })
  }
}
