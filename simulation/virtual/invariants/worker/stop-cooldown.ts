import { FLEET_SCALING_ID } from '@lcm/domain/fleet/fleet-scaling'
import { toMs } from '@lcm/domain/instant'
import type { Journal } from '@lcm/store/store'
import type { RequestedState } from '../requested-state-record.ts'

const STOPS_MAX = 1_000

/**
 * Automatic stops are at least one cooldown apart. Permits are compared, not stops: a crash can delay a stop and move it closer to
 * the next one.
 */
export async function stopsWithinCooldown(
  journal: Journal,
  settings: RequestedState['settings'],
): Promise<readonly string[]> {
  const subject = `fleet_scaling:${FLEET_SCALING_ID}`
  const entries = await journal.query({ streams: ['scaling'], subject, limit: STOPS_MAX })
  const atMs = entries
    .filter(({ body }) => 'outcome' in body && body.outcome === 'scale_down_initiated')
    .map(({ at }) => toMs(at))
    .reverse()
  return atMs.flatMap((at, n) => {
    const sinceMs = at - (atMs[n - 1] ?? Number.NEGATIVE_INFINITY)
    const leastMs = settings.minimumAt('scale_down_cooldown_seconds', at) * 1000
    return sinceMs < leastMs
      ? [`two workers are stopped as idle within ${sinceMs} ms; the cooldown is ${leastMs} ms`]
      : []
  })
}
