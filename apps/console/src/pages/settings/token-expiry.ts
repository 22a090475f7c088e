import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { Token } from '@lcm/domain/token'

const DAY_MS = 86_400_000

export const EXPIRIES = [
  { name: 'never', days: null },
  { name: 'in 1 day', days: 1 },
  { name: 'in 30 days', days: 30 },
  { name: 'in 90 days', days: 90 },
  { name: 'in 1 year', days: 365 },
] as const

/** Expiry of a token created now; null if it never expires. */
export function expiryAt(name: string, nowMs: number): Instant | null {
  const days = EXPIRIES.find(expiry => expiry.name === name)?.days ?? null
  return days === null ? null : toInstant(nowMs + days * DAY_MS)
}

export const isExpired = ({ expires_at }: Token, nowMs: number): boolean =>
  expires_at !== null && toMs(expires_at) <= nowMs

/** Sorted by name, expired tokens last. */
export const inOrder = (tokens: readonly Token[], nowMs: number): Token[] =>
  tokens.toSorted(
    (a, b) =>
      Number(isExpired(a, nowMs)) - Number(isExpired(b, nowMs)) ||
      a.name.localeCompare(b.name) ||
      (a.id < b.id ? -1 : 1),
  )
