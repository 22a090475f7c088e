import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { Token } from '@lcm/domain/token'

const DAY_MS = 86_400_000

export const EXPIRIES = [
  { name: 'never', days: null },
  { name: 'in a day', days: 1 },
  { name: 'in 30 days', days: 30 },
  { name: 'in 90 days', days: 90 },
  { name: 'in a year', days: 365 },
] as const
export type ExpiryName = (typeof EXPIRIES)[number]['name']

/** When a token that is made now is over; null for one that never is. */
export function expiryAt(name: string, nowMs: number): Instant | null {
  const days = EXPIRIES.find(expiry => expiry.name === name)?.days ?? null
  return days === null ? null : toInstant(nowMs + days * DAY_MS)
}

export const isOver = ({ expires_at }: Token, nowMs: number): boolean =>
  expires_at !== null && toMs(expires_at) <= nowMs

/** By name, those that are over last. */
export const inOrder = (tokens: readonly Token[], nowMs: number): Token[] =>
  tokens.toSorted(
    (a, b) =>
      Number(isOver(a, nowMs)) - Number(isOver(b, nowMs)) || a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1),
  )
