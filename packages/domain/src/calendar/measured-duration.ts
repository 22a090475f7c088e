import { type Instant, toMs } from '../instant.ts'
import type { LabletSession, Pipeline } from '../session/lablet-session.ts'
import { PIPELINE_STEPS } from '../session/pipeline.ts'
import { CONDITION, holds, type Worker } from '../worker/worker.ts'
import { timingId } from './timings.ts'

/** One duration that LCM measured, with the id of its timing. */
export interface MeasuredDuration {
  readonly id: string
  readonly fromMs: number
  readonly untilMs: number
}

const STARTED_BY_LCM = 'requested_by'

/**
 * The boot that ends with this report; null for any other change. A boot that failed, that EC2 refused first, that others started
 * or whose end was not seen in time says nothing about the next one.
 */
export function measuredBoot(before: Worker, after: Worker, now: Instant): MeasuredDuration | null {
  if (before.status !== 'STARTING' || after.status !== 'RUNNING' || after.service_status !== 'AVAILABLE') return null
  const { entered_status_at, billing, launch, template_name } = before
  // A refused start is billed as stopped, so the boot is billed from a later time on.
  if (billing.cause !== 'boot' || billing.since !== entered_status_at) return null
  if (template_name === '' || holds(before.conditions, CONDITION.ec2Unreachable)) return null
  const started = before.state_history.at(-1)
  const untilMs = toMs(now)
  if (started?.from === 'STOPPED' && started.because.code === STARTED_BY_LCM)
    return { id: timingId.boot(template_name), fromMs: toMs(entered_status_at), untilMs }
  if (started?.from === 'PROVISIONING' && launch?.state === 'launched' && launch.n === 1)
    return { id: timingId.firstBoot(template_name), fromMs: toMs(launch.requested_at), untilMs }
  return null
}

/** The start of a lab that ends with this report; null for any other change, and for a start that was interrupted or retried. */
export function measuredLabStart(
  before: LabletSession,
  after: Pick<LabletSession, 'status'>,
  now: Instant,
): MeasuredDuration | null {
  const { status, pipeline, definition, entered_status_at } = before
  if (status !== 'INSTANTIATING' || after.status !== 'READY') return null
  const fromMs = toMs(entered_status_at)
  return isUninterrupted(pipeline, 'instantiate', fromMs)
    ? { id: timingId.lab(definition.name), fromMs, untilMs: toMs(now) }
    : null
}

/** The removal of a lab whose capacity is released now; null for a lab that was not up, and for a removal that was interrupted. */
export function measuredTeardown({ state_history, pipeline }: LabletSession, now: Instant): MeasuredDuration | null {
  const ended = state_history.findLast(({ to }) => to === 'STOPPING')
  if (ended === undefined || (ended.from !== 'READY' && ended.from !== 'RUNNING')) return null
  const fromMs = toMs(ended.at)
  return isUninterrupted(pipeline, 'teardown', fromMs) ? { id: timingId.teardown, fromMs, untilMs: toMs(now) } : null
}

/** A step follows the one before in the same write; only the first waits for a free slot of its CML. */
const PAUSE_MS_MAX = 30_000

/** Whether each step was done at the first attempt, and began as soon as the one before had ended. */
function isUninterrupted(pipeline: Pipeline | null, name: Pipeline['name'], fromMs: number): boolean {
  if (pipeline?.name !== name || pipeline.attempt !== 1) return false
  let endedMs = fromMs
  for (const plan of PIPELINE_STEPS[name]) {
    const step = pipeline.steps[plan.name]
    if (step === undefined || step.started_at === null) return true
    if (step.attempts > 1 || toMs(step.started_at) - endedMs > PAUSE_MS_MAX) return false
    if (step.ended_at === null) return true
    endedMs = toMs(step.ended_at)
  }
  return true
}
