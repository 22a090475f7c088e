import { z } from 'zod'

/** A moment on the wire: RFC 3339, UTC, milliseconds, `Z`. One spelling, so instants sort as text. */
export const Instant = z.iso.datetime({ precision: 3 }).meta({
  example: '2026-01-02T03:04:05.678Z',
  id: 'Instant',
  description: 'A moment in UTC: RFC 3339 with milliseconds and `Z`.',
})
export type Instant = z.infer<typeof Instant>

export const toMs = (instant: Instant): number => Date.parse(instant)
export const toInstant = (ms: number): Instant => new Date(ms).toISOString()

/** A foreign date as an instant; null when it is invalid. */
export function readInstant(text: string): Instant | null {
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? null : toInstant(ms)
}
