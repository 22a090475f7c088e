import type { AnswerOf, BodyInput } from '@lcm/contract/routes'
import { toInstant } from '@lcm/domain/instant'
import { UNLIMITED } from '@lcm/domain/quota/limit'

/** The most seats of one booking. */
export const SEATS_MAX = 200

export interface BookingDraft {
  readonly definitionId: string
  /** Value of a `datetime-local` field; null for now. */
  readonly start: string | null
  readonly minutes: number | null
  /** How many sessions at the same time. */
  readonly seats: number | null
  readonly isBestEffort: boolean
  /** The save to continue from, which selects the definition. */
  readonly saveId?: string | undefined
}

/** The API accepts a start slightly in the past. */
const PAST_MS_MAX = 60_000

/** Error in the form; null when it can be sent. */
export function bookingFault(
  { definitionId, start, minutes, seats }: BookingDraft,
  max: number,
  nowMs: number,
): string | null {
  if (definitionId === '') return 'Choose a definition'
  if (minutes === null || minutes < 1 || minutes > max) return `Enter 1 to ${max} minutes`
  if (seats === null || seats < 1 || seats > SEATS_MAX) return `Enter 1 to ${SEATS_MAX} seats`
  if (start === null) return null
  const startMs = Date.parse(start)
  if (Number.isNaN(startMs)) return 'Enter a start time'
  return startMs < nowMs - PAST_MS_MAX ? 'The start time is in the past' : null
}

/** The time of the booking, as far as it is given. */
export const timeOf = ({ start, minutes }: Pick<BookingDraft, 'start' | 'minutes'>) => ({
  ...(start === null ? {} : { start: toInstant(Date.parse(start)) }),
  ...(minutes === null ? {} : { duration_minutes: minutes }),
})

const promiseOf = ({ isBestEffort }: BookingDraft) => (isBestEffort ? { best_effort: true } : {})

export const bookingBody = (draft: BookingDraft): BodyInput<'createSession'> => ({
  ...(draft.saveId === undefined ? { definition: draft.definitionId } : { resume_save: draft.saveId }),
  ...timeOf(draft),
  ...promiseOf(draft),
})

/** A booking of several seats. */
export const seatsBody = (draft: BookingDraft, seats: number): BodyInput<'createSessions'> => ({
  definition: draft.definitionId,
  seats,
  ...timeOf(draft),
  ...promiseOf(draft),
})

type Quota = AnswerOf<'getQuota'>

/** How much of the quota is used; null without a limit. */
export function quotaText({ limits, used }: Pick<Quota, 'limits' | 'used'>, isLater: boolean): string | null {
  const [count, limit, noun] = isLater
    ? [used.future_sessions, limits.future_sessions, 'future sessions booked']
    : [used.live_sessions, limits.live_sessions, 'sessions open']
  return limit === UNLIMITED ? null : `${count} of ${limit} ${noun}`
}

const twoDigits = (value: number) => String(value).padStart(2, '0')

/** Local time in the format of a `datetime-local` field. */
export function localMinute(ms: number): string {
  const at = new Date(ms)
  const day = `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}`
  return `${day}T${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}`
}
