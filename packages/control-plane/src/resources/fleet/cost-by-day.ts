import type { AnswerOf } from '@lcm/contract/routes'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { CostInterval } from '@lcm/domain/worker/cost'

const DAY_MS = 86_400_000

type Interval = Pick<CostInterval, 'from' | 'to' | 'usd' | 'saved_usd'>
type Days = AnswerOf<'getFleetSummary'>['cost']['by_day']

const dayNumber = (ms: number): number => Math.floor(ms / DAY_MS)

/** What each day, in UTC, has its share in, from that of `since` to that of `now`: days without any are named, too. */
export function costByDay(intervals: readonly Interval[], since: Instant, now: Instant): Days {
  const first = dayNumber(toMs(since))
  const last = Math.max(first, dayNumber(toMs(now)))
  const days = Array.from({ length: last - first + 1 }, (_, index) => ({
    day: toInstant((first + index) * DAY_MS).slice(0, 10),
    spent_usd: 0,
    saved_usd: 0,
  }))
  for (const interval of intervals)
    for (const { day, share } of sharesOf(interval, toMs(since))) {
      const target = days[Math.min(day, last) - first]
      if (target === undefined) continue
      target.spent_usd += interval.usd * share
      target.saved_usd += interval.saved_usd * share
    }
  return days
}

/** How much of the interval lies in each day after `sinceMs`. What took no time at all belongs to its only day. */
function* sharesOf({ from, to }: Interval, sinceMs: number): Iterable<{ day: number; share: number }> {
  const [fromMs, toMsEnd] = [toMs(from), toMs(to)]
  const wholeMs = toMsEnd - fromMs
  if (wholeMs <= 0) return yield { day: dayNumber(toMsEnd), share: 1 }
  const beginMs = Math.max(fromMs, sinceMs)
  for (let day = dayNumber(beginMs); day * DAY_MS < toMsEnd; day++) {
    const partMs = Math.min(toMsEnd, (day + 1) * DAY_MS) - Math.max(beginMs, day * DAY_MS)
    yield { day, share: partMs / wholeMs }
  }
}
