import type { Instant } from '../instant.ts'
import { toMs } from '../instant.ts'
import { startedAgain } from './lab-restart.ts'
import { LAB_STOPPED, type LabletSession, type Step } from './lablet-session.ts'
import { newPipeline, nextStep } from './pipeline.ts'

/** What a person's wish to try again comes to. */
export type Retry =
  /** Written as it is, whoever can do something about it looks at it at once. */
  | { readonly kind: 'try'; readonly changes: Partial<Pick<LabletSession, 'pipeline' | 'last_error'>> }
  | { readonly kind: 'under_way' }
  /** With what to do instead. */
  | { readonly kind: 'refused'; readonly because: string }

const refused = (because: string): Retry => ({ kind: 'refused', because })
const AFRESH = 'book another one'

/** Tries again what has gone wrong with a session, as far as there is anything: its place, its lab, or one that somebody stopped. */
export function retryOf(session: LabletSession, now: Instant): Retry {
  const { status, desired_status, timeslot } = session
  switch (status) {
    case 'EXPIRED':
    case 'STOPPING':
    case 'STOPPED':
      return refused(`it is ${status}, and its lab is being taken down; ${AFRESH}`)
    case 'ARCHIVED':
    case 'TERMINATED':
      return refused(`it is ${status}; ${AFRESH}`)
    default:
  }
  if (desired_status === 'TERMINATED') return refused(`it was canceled; ${AFRESH}`)
  if (timeslot.end <= now) return refused(`its time was over at ${timeslot.end}; ${AFRESH}`)
  switch (status) {
    case 'PENDING':
    case 'SCHEDULED':
      return { kind: 'try', changes: {} }
    case 'INSTANTIATING':
      return retryStart(session)
    case 'READY':
    case 'RUNNING':
      return retryStopped(session, now)
  }
}

/** All of it anew: what its steps did before they find by themselves. */
function retryStart({ pipeline, last_error }: LabletSession): Retry {
  const steps = Object.values(pipeline?.steps ?? {})
  if (last_error !== null || steps.some(hasFailed))
    return {
      kind: 'try',
      changes: { pipeline: newPipeline('instantiate', (pipeline?.attempt ?? 0) + 1), last_error: null },
    }
  const held = steps.find(({ status }) => status === 'blocked')
  return held === undefined
    ? refused('nothing has gone wrong with its lab yet; it is being started')
    : refused(`${held.error ?? 'it is blocked'}; it goes on by itself once that is over`)
}

const hasFailed = ({ status, error }: Step): boolean => status === 'failed' || (error !== null && status !== 'blocked')

/** Only started: what its nodes have stored is kept. */
function retryStopped({ pipeline, conditions }: LabletSession, now: Instant): Retry {
  if (pipeline?.name === 'instantiate') {
    const { kind } = nextStep(pipeline, toMs(now))
    if (kind !== 'done' && kind !== 'failed') return { kind: 'under_way' }
    if (conditions.some(({ type, status }) => type === LAB_STOPPED && status))
      return { kind: 'try', changes: { pipeline: startedAgain(pipeline) } }
  }
  return refused('its lab runs, so that there is nothing to try again; for a new lab cancel it and book another one')
}
