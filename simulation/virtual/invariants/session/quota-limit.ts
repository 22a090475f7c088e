import { toMs } from '@lcm/domain/instant'
import { countsInQuota } from '@lcm/domain/quota/booking-ledger'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { LEARNER_NAMES } from '../../world/control-plane.ts'
import type { SettingsHistory } from '../settings-history.ts'

const LEARNERS: ReadonlySet<string> = new Set(LEARNER_NAMES)

/**
 * A booking never leaves its owner with more sessions than the limit allowed. Sessions that started after the booking don't count,
 * because an operator may have extended others meanwhile.
 */
export function overQuota(
  booked: LabletSession,
  sessions: Iterable<LabletSession>,
  settings: Pick<SettingsHistory, 'largestLimitSince'>,
  nowMs: number,
): string[] {
  if (!LEARNERS.has(booked.owner) || !countsInQuota(booked)) return []
  const others = [...sessions].filter(
    each =>
      each.id !== booked.id && each.owner === booked.owner && countsInQuota(each) && toMs(each.timeslot.end) > nowMs,
  )
  const earlier = [booked, ...others.filter(({ created_at }) => created_at <= booked.created_at)]
  const isLive = ({ timeslot }: LabletSession) => timeslot.start <= booked.created_at
  const isFuture = ({ timeslot }: LabletSession) => toMs(timeslot.start) > nowMs
  const sinceMs = toMs(booked.created_at)
  const [of, setting] = isLive(booked)
    ? ([isLive, 'quota_user_live_sessions'] as const)
    : ([isFuture, 'quota_user_future_sessions'] as const)
  const count = earlier.filter(of).length
  const limit = settings.largestLimitSince(setting, sinceMs)
  return count > limit ? [`${booked.owner} has ${count} sessions, and ${setting} is ${limit}`] : []
}
