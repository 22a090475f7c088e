import { mayModify } from '@lcm/contract/route-spec'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { LabletSession, SessionStatus } from '@lcm/domain/session/lablet-session'
import { moveRefusal } from '@lcm/domain/session/session-move-request'
import { retryOf } from '@lcm/domain/session/session-retry-request'
import type { Info } from '../../../state/live-state.ts'
import { isAllowed } from '../../../state/permission.ts'

export const SESSION_ACTIONS = ['retry', 'extend', 'move', 'requeue', 'cancel'] as const
export type SessionAction = (typeof SESSION_ACTIONS)[number]

const MINUTE_MS = 60_000
/** Statuses in which no action is possible. */
const OVER: ReadonlySet<SessionStatus> = new Set(['STOPPING', 'STOPPED', 'EXPIRED', 'ARCHIVED', 'TERMINATED'])

export const isOver = ({ status }: Pick<LabletSession, 'status'>): boolean => OVER.has(status)

/** Only the owner, operators and administrators may change a session. */
export const mayAct = (info: Info | null, { owner }: LabletSession): boolean =>
  info !== null && isAllowed(info, 'cancelSession') && mayModify({ ...info.actor, service: null }, owner)

/** Whether the user runs the fleet, so that the API permits more than to an owner. */
export const isOperator = (info: Info | null): boolean =>
  info !== null && mayModify({ ...info.actor, service: null }, '')

/** Minutes by which the timeslot may be extended. `longest` is the maximum of its definition; null when unknown. */
export function minutesLeft({ timeslot }: LabletSession, longest: number | null): number {
  const minutes = (toMs(timeslot.end) - toMs(timeslot.start)) / MINUTE_MS
  return longest === null ? 0 : Math.max(0, Math.floor(longest - minutes))
}

export interface ActionFacts {
  readonly nowMs: number
  readonly isOperator: boolean
  /** The maximum of its definition; null when unknown. */
  readonly longest: number | null
}

/** Reason why the API would refuse the action; null when it would accept it. */
export function disabledReasonOf(verb: SessionAction, session: LabletSession, facts: ActionFacts): string | null {
  const { nowMs, isOperator, longest } = facts
  const { status, desired_status } = session
  switch (verb) {
    case 'cancel':
      if (isOver(session)) return `The session is ${status}`
      return desired_status === 'TERMINATED' ? 'The session was canceled' : null
    case 'extend':
      return extendDisabledReason(session, nowMs, longest)
    case 'move':
      return moveRefusal(session, toInstant(nowMs), isOperator)?.message ?? null
    case 'requeue':
      if (desired_status === 'TERMINATED') return 'The session was canceled'
      return status === 'SCHEDULED' ? null : `Only SCHEDULED sessions can be requeued, and this one is ${status}`
    case 'retry': {
      const retry = retryOf(session, toInstant(nowMs))
      if (retry.kind === 'under_way') return 'A retry is in progress'
      return retry.kind === 'refused' ? retry.because.message : null
    }
  }
}

function extendDisabledReason(session: LabletSession, nowMs: number, longest: number | null): string | null {
  const { status, desired_status, timeslot, definition } = session
  if (isOver(session)) return `The session is ${status}`
  if (desired_status === 'TERMINATED') return 'The session was canceled'
  if (toMs(timeslot.end) <= nowMs) return 'Its timeslot has ended'
  if (longest === null) return 'Its definition was deleted'
  return minutesLeft(session, longest) > 0
    ? null
    : `The timeslot already has the maximum of ${longest} min for ${definition.name}`
}

/** Rows offer a retry only in these statuses; others proceed by themselves. */
const RETRIED_IN_ROWS: ReadonlySet<SessionStatus> = new Set(['INSTANTIATING', 'READY', 'RUNNING'])

/** Actions to show. Temporarily disabled ones stay visible, so that they keep the keyboard focus. */
export function availableActions(
  session: LabletSession,
  facts: Omit<ActionFacts, 'longest'>,
  place: 'row' | 'page',
): SessionAction[] {
  const { status } = session
  if (isOver(session)) return []
  return SESSION_ACTIONS.filter(verb => {
    if (verb === 'cancel' || verb === 'extend') return true
    if (verb === 'retry' && place === 'row' && !RETRIED_IN_ROWS.has(status)) return false
    return disabledReasonOf(verb, session, { ...facts, longest: null }) === null
  })
}
