import { InvalidArgumentError, Option } from 'commander'
import { DURATION_MS_MAX, formatDuration, parseDuration } from './terminal/duration.ts'

export function durationMs(text: string): number {
  const ms = parseDuration(text, Number.POSITIVE_INFINITY)
  if (ms === null) throw new InvalidArgumentError('Give a duration such as 90s, 5m or 1h30m.')
  if (ms > DURATION_MS_MAX) throw new InvalidArgumentError(`The maximum is ${formatDuration(DURATION_MS_MAX)}.`)
  return ms
}

/** Parses a whole number between `from` and `to`, both included. */
export const wholeNumber =
  (from: number, to: number) =>
  (text: string): number => {
    const count = Number(text)
    if (/^\d+$/.test(text) && count >= from && count <= to) return count
    throw new InvalidArgumentError(`Give a whole number from ${from} to ${to}.`)
  }

export const FORMATS = ['table', 'json', 'yaml', 'name'] as const
export type Format = (typeof FORMATS)[number]

export const formatOption = (): Option => new Option('-o, --output <format>', 'Output format').choices(FORMATS)
