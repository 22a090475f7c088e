import { readInstant, toInstant } from '@lcm/domain/instant'
import { InvalidArgumentError } from 'commander'
import { parseDuration } from '../terminal/duration.ts'

/** The longest retention of any record. */
const AGO_MS_MAX = 400 * 86_400_000
const DATE = /^\d{4}-\d{2}-\d{2}/

/** A point in time, as an age or a date. */
export type Since = (nowMs: number) => string

export function sinceArgument(text: string): Since {
  const agoMs = parseDuration(text, AGO_MS_MAX)
  if (agoMs !== null) return nowMs => toInstant(nowMs - agoMs)
  const at = DATE.test(text) ? readInstant(text) : null
  if (at !== null) return () => at
  throw new InvalidArgumentError('Give an age such as 90m, 12h or 7d, or a date such as 2026-01-31.')
}
