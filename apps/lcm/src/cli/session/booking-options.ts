import { ApiError } from '@lcm/client/client'
import { type Instant, readInstant } from '@lcm/domain/instant'
import { momentText } from '@lcm/domain/text/format-amounts'
import { InvalidArgumentError } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import { durationMs } from '../option-parsers.ts'
import { parseDuration } from '../terminal/duration.ts'

const MINUTE_MS = 60_000
/** The upper limit for all definitions. */
const LENGTH_MS_MAX = 7 * 24 * 60 * MINUTE_MS
const SEATS_MAX = 200

/** When a lab is booked, and for how many. */
export interface TimeOptions {
  readonly start?: Instant
  /** In minutes. */
  readonly for?: number
  readonly seats?: number
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/

export function timeOf(text: string): Instant {
  const instant = ISO_TIME.test(text) ? readInstant(text) : null
  if (instant === null) throw new InvalidArgumentError('Give a time such as 2026-01-31T09:00Z.')
  return instant
}

export function minutesOf(text: string): number {
  const ms = parseDuration(text, Number.POSITIVE_INFINITY)
  if (ms !== null && ms > LENGTH_MS_MAX)
    throw new InvalidArgumentError('The maximum is 7d; the definition may allow less.')
  const minutes = durationMs(text) / MINUTE_MS
  if (!Number.isInteger(minutes)) throw new InvalidArgumentError('Give whole minutes, such as 90m or 1h30m.')
  return minutes
}

export function seatsOf(text: string): number {
  const seats = Number(text)
  if (!Number.isInteger(seats) || seats < 1 || seats > SEATS_MAX)
    throw new InvalidArgumentError(`Give a number from 1 to ${SEATS_MAX}.`)
  return seats
}

const toMinutes = (start: Instant): string => start.replace(/:\d\d(\.\d+)?Z$/, 'Z')

/** The command that books one of the times that work. */
export const bookCommand = (
  lab: string,
  start: Instant,
  options: TimeOptions & { readonly reservation?: string },
): string =>
  [
    `lcm book ${lab} --start ${toMinutes(start)}`,
    ...(options.for === undefined ? [] : [`--for ${options.for}m`]),
    ...(options.seats === undefined ? [] : [`--seats ${options.seats}`]),
    ...(options.reservation === undefined ? [] : [`--reservation ${options.reservation}`]),
  ].join(' ')

/** One line for each time that works, with the command that books it. */
export const alternativeLines = (
  lab: string,
  starts: readonly Instant[],
  options: TimeOptions & { readonly reservation?: string },
): string[] => starts.map(start => `${momentText(start)} works: ${bookCommand(lab, start, options)}`)

/** A refusal of the calendar with the commands that would be admitted; any other error as it is. */
export function withAlternatives(
  error: unknown,
  lab: string,
  options: TimeOptions & { readonly reservation?: string },
): unknown {
  if (!(error instanceof ApiError) || error.problem.code !== 'no_capacity_at_that_time') return error
  const { detail, reason, alternatives = [] } = error.problem
  const advice = alternatives.length === 0 ? 'book with --best-effort to get what promised sessions leave' : null
  return new CliError(EXIT.conflict, reason?.message ?? detail, advice, alternativeLines(lab, alternatives, options))
}
