import { FLEET_SCALING_ID } from '@lcm/domain/fleet/fleet-scaling'
import { toMs } from '@lcm/domain/instant'
import { Reason } from '@lcm/domain/reason'
import type { Journal, JournalEntry } from '@lcm/store/store'
import type { RequestedState } from '../requested-state-record.ts'

const STOPS_MAX = 1_000
const WINDOW_MS = 10 * 60_000

interface Fleet {
  readonly settings: RequestedState['settings']
  /** Workers that ever existed: no fewer than those that ran. */
  readonly workers: number
}

/** The plan explains such a stop, which needs no brake. */
const isPlanned = ({ body }: JournalEntry): boolean =>
  'because' in body && /^plan_stop/.test(Reason.safeParse(body.because).data?.code ?? '')

/**
 * Automatic stops are at least one cooldown apart if one is set; else no more than a share of the fleet stops within 10 minutes, apart
 * from those that the plan explains. Permits are compared, not stops: a crash can delay a stop and move it closer to the next one.
 */
export async function stopsWithinLimit(journal: Journal, { settings, workers }: Fleet): Promise<readonly string[]> {
  const subject = `fleet_scaling:${FLEET_SCALING_ID}`
  const entries = await journal.query({ streams: ['scaling'], subject, limit: STOPS_MAX })
  const stops = entries.filter(({ body }) => 'outcome' in body && body.outcome === 'scale_down_initiated').reverse()
  const atMs = stops.map(({ at }) => toMs(at))
  const braked = new Set(stops.filter(stop => !isPlanned(stop)).map(({ at }) => toMs(at)))
  return atMs.flatMap((at, n) => {
    const cooldowns = settings.valuesAt('scale_down_cooldown_seconds', at)
    const sinceMs = at - (atMs[n - 1] ?? Number.NEGATIVE_INFINITY)
    const leastMs = Math.min(...cooldowns.flatMap(each => (each === 'off' ? [] : [each * 1000])))
    if (sinceMs >= leastMs) return []
    if (!cooldowns.includes('off'))
      return [`two workers are stopped as idle within ${sinceMs} ms; the cooldown is ${leastMs} ms`]
    if (!braked.has(at)) return []
    const within = atMs.slice(0, n + 1).filter(each => at - each < WINDOW_MS).length
    const limit = Math.max(1, Math.floor(Math.max(...settings.valuesAt('scale_down_max_share', at)) * workers))
    return within <= limit ? [] : [`${within} workers are stopped as idle within 10 min; the share allows ${limit}`]
  })
}
