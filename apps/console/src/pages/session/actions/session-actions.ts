import { mayTouch } from '@lcm/contract/access'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { LabletSession, SessionStatus } from '@lcm/domain/session/lablet-session'
import { retryOf } from '@lcm/domain/session/retry'
import type { Info } from '../../../state/live-state.ts'
import { isAllowed } from '../../../state/permission.ts'

export const SESSION_ACTIONS = ['retry', 'requeue', 'extend', 'cancel'] as const
export type SessionAction = (typeof SESSION_ACTIONS)[number]

const MINUTE_MS = 60_000
/** What comes now comes by itself. */
const OVER: ReadonlySet<SessionStatus> = new Set(['STOPPING', 'STOPPED', 'EXPIRED', 'ARCHIVED', 'TERMINATED'])

export const isOver = ({ status }: Pick<LabletSession, 'status'>): boolean => OVER.has(status)

/** Whether this person may do anything about it: the API would refuse a stranger. */
export const mayAct = (info: Info | null, { owner }: LabletSession): boolean =>
  info !== null && isAllowed(info, 'cancelSession') && mayTouch({ ...info.actor, service: null }, owner)

/** By how much its slot may grow. `longest` is what its definition allows; null when that is not known. */
export function minutesLeft({ timeslot }: LabletSession, longest: number | null): number {
  const minutes = (toMs(timeslot.end) - toMs(timeslot.start)) / MINUTE_MS
  return longest === null ? 0 : Math.max(0, Math.floor(longest - minutes))
}

/** Why the API would refuse it; null when it would not. */
export function disabledReasonOf(
  verb: SessionAction,
  session: LabletSession,
  nowMs: number,
  longest: number | null,
): string | null {
  const { status, desired_status } = session
  switch (verb) {
    case 'cancel':
      if (isOver(session)) return `It is ${status}`
      return desired_status === 'TERMINATED' ? 'It was canceled' : null
    case 'extend':
      return extendDisabledReason(session, nowMs, longest)
    case 'requeue':
      if (desired_status === 'TERMINATED') return 'It was canceled'
      return status === 'SCHEDULED' ? null : `It is ${status}, and would have to be SCHEDULED`
    case 'retry': {
      const retry = retryOf(session, toInstant(nowMs))
      if (retry.kind === 'under_way') return 'It is being tried again'
      return retry.kind === 'refused' ? retry.because : null
    }
  }
}

function extendDisabledReason(session: LabletSession, nowMs: number, longest: number | null): string | null {
  const { status, desired_status, timeslot, definition } = session
  if (isOver(session)) return `It is ${status}`
  if (desired_status === 'TERMINATED') return 'It was canceled'
  if (toMs(timeslot.end) <= nowMs) return 'Its time is over'
  if (longest === null) return 'Its definition is gone'
  return minutesLeft(session, longest) > 0 ? null : `${definition.name} may last ${longest} min, and it does`
}

/** What goes by itself needs no button in a row: only what has gone wrong is worth trying again there. */
const RETRIED_IN_ROWS: ReadonlySet<SessionStatus> = new Set(['INSTANTIATING', 'READY', 'RUNNING'])

/** What is offered. What is barred for a reason that may pass stays, so that the keyboard's focus does. */
export function availableActions(session: LabletSession, nowMs: number, place: 'row' | 'page'): SessionAction[] {
  const { status } = session
  if (isOver(session)) return []
  return SESSION_ACTIONS.filter(verb => {
    if (verb === 'cancel' || verb === 'extend') return true
    if (verb === 'retry' && place === 'row' && !RETRIED_IN_ROWS.has(status)) return false
    return disabledReasonOf(verb, session, nowMs, null) === null
  })
}
