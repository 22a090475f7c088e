import type { Instant } from '../instant.ts'
import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { startedAgain } from './lab-stop-cause.ts'
import { hasEnded, isFinal, LAB_STOPPED, type LabletSession, type Step } from './lablet-session.ts'
import { newPipeline, nextStep } from './pipeline.ts'

/** The answer to a request to retry a session. */
export type Retry =
  /** Writing the changes wakes the controller that acts on them. */
  | { readonly kind: 'try'; readonly changes: Partial<Pick<LabletSession, 'pipeline' | 'last_error'>> }
  | { readonly kind: 'under_way' }
  /** The reason says what to do instead. */
  | { readonly kind: 'refused'; readonly because: Reason }

const refused = (because: Reason): Retry => ({ kind: 'refused', because })

/** Retries what failed: the placement, the start of the lab, or a lab that was stopped. */
export function retryOf(session: LabletSession, now: Instant): Retry {
  const over = overBecause(session, now)
  if (over !== null) return refused(over)
  switch (session.status) {
    case 'READY':
    case 'RUNNING':
      return retryStopped(session, now)
    case 'INSTANTIATING':
      return retryStart(session)
    default:
      return { kind: 'try', changes: {} }
  }
}

/** Why the session ends or is over, so that its lab can't be started again; null while it can. */
export function overBecause({ status, desired_status, timeslot }: LabletSession, now: Instant): Reason | null {
  if (isFinal(status)) return reason('session_ended', { status })
  if (hasEnded(status)) return reason('session_ending', { status })
  if (desired_status === 'TERMINATED') return reason('session_was_canceled')
  return timeslot.end <= now ? reason('timeslot_ended', { end: timeslot.end }) : null
}

/** Retries the whole start: its steps find what earlier attempts did. */
function retryStart({ pipeline, last_error }: LabletSession): Retry {
  const steps = Object.entries(pipeline?.steps ?? {})
  if (last_error !== null || steps.some(([, step]) => hasFailed(step)))
    return {
      kind: 'try',
      changes: { pipeline: newPipeline('instantiate', (pipeline?.attempt ?? 0) + 1), last_error: null },
    }
  const held = steps.find(([, { status }]) => status === 'blocked')
  if (held === undefined) return refused(reason('lab_start_in_progress'))
  const [step, { error }] = held
  return refused(reason('pipeline_step_blocked', { step, error }))
}

const hasFailed = ({ status, error }: Step): boolean => status === 'failed' || (error !== null && status !== 'blocked')

/** Only starts the lab again: the disks of its nodes are kept. */
function retryStopped({ pipeline, conditions }: LabletSession, now: Instant): Retry {
  if (pipeline?.name === 'instantiate') {
    const { kind } = nextStep(pipeline, toMs(now))
    if (kind !== 'done' && kind !== 'failed') return { kind: 'under_way' }
    if (kind === 'failed' || conditions.some(({ type, status }) => type === LAB_STOPPED && status))
      return { kind: 'try', changes: { pipeline: startedAgain(pipeline) } }
  }
  return refused(reason('nothing_to_retry'))
}
