import type { AnswerOf, BodyInput } from '@lcm/contract/routes'
import { toInstant } from '@lcm/domain/instant'
import { UNLIMITED } from '@lcm/domain/quota/limit'

export interface BookingDraft {
  readonly definitionId: string
  /** Value of a `datetime-local` field; null for now. */
  readonly start: string | null
  readonly minutes: number | null
  /** The save to continue from, which selects the definition. */
  readonly saveId?: string | undefined
}

/** The API accepts a start slightly in the past. */
const PAST_MS_MAX = 60_000

/** Error in the form; null when it can be sent. */
export function bookingFault(
  { definitionId, start, minutes }: BookingDraft,
  max: number,
  nowMs: number,
): string | null {
  if (definitionId === '') return 'Choose a definition'
  if (minutes === null || minutes < 1 || minutes > max) return `Enter 1 to ${max} minutes`
  if (start === null) return null
  const startMs = Date.parse(start)
  if (Number.isNaN(startMs)) return 'Enter a start time'
  return startMs < nowMs - PAST_MS_MAX ? 'The start time is in the past' : null
}

export const bookingBody = ({ definitionId, start, minutes, saveId }: BookingDraft): BodyInput<'createSession'> => ({
  ...(saveId === undefined ? { definition: definitionId } : { resume_save: saveId }),
  ...(start === null ? {} : { start: toInstant(Date.parse(start)) }),
  ...(minutes === null ? {} : { duration_minutes: minutes }),
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
