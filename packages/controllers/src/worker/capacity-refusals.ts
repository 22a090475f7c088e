import { offerKey } from '@lcm/domain/worker/launch'
import type { LaunchAttempt } from '@lcm/domain/worker/worker'

/** Places that the cloud had no room in lately, for all workers of a region together. Memory only: a new leader asks again. */
export interface CapacityRefusals {
  refused(region: string, attempt: LaunchAttempt, nowMs: number): void
  /** Until when each place is left alone. */
  activeIn(region: string, nowMs: number): ReadonlyMap<string, number>
}

export function capacityRefusals(pauseMs: number): CapacityRefusals {
  const byRegion = new Map<string, Map<string, number>>()
  return {
    refused(region, { parameters }, nowMs) {
      const offers = byRegion.get(region) ?? new Map<string, number>()
      byRegion.set(region, offers)
      const key = offerKey(parameters)
      // Asking again within the pause must not prolong it, or it might never end.
      if ((offers.get(key) ?? 0) <= nowMs) offers.set(key, nowMs + pauseMs)
    },
    activeIn(region, nowMs) {
      const offers = byRegion.get(region) ?? new Map<string, number>()
      for (const [key, untilMs] of offers) if (untilMs <= nowMs) offers.delete(key)
      return offers
    },
  }
}
