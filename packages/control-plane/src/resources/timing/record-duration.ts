import type { MeasuredDuration } from '@lcm/domain/calendar/measured-duration'
import { withDuration } from '@lcm/domain/calendar/timings'
import { toInstant, toMs } from '@lcm/domain/instant'
import { LEADER_SILENT_MS } from '@lcm/domain/service-instance'
import type { Api, Request } from '../../api-context.ts'
import { nullOnConflict } from '../../system-actor.ts'
import { changeDocument } from '../change-document.ts'

/** The report of a controller that shows the end of what was measured. */
type Report = Pick<Request<unknown, unknown, unknown>, 'actor' | 'epoch'>

/**
 * Adds a duration to its timing. Called only by the request whose commit made the change, so a repeated report is not counted again;
 * a crash right after that commit loses one duration.
 */
export async function recordDuration(api: Api, report: Report, measured: MeasuredDuration | null): Promise<void> {
  if (measured === null || !(await wasWatched(api, report, measured.fromMs))) return
  const { id, fromMs, untilMs } = measured
  const now = toInstant(api.clock.now())
  const stamps = { version: 1, created_at: now, updated_at: now }
  if ((await api.timings.get(id)) === null) await api.timings.insert({ id, ...stamps, recent_ms: [] })
  await nullOnConflict(
    changeDocument({ collection: api.timings, id, noun: 'timing' }, api.clock, null, timing => ({
      document: { ...timing, recent_ms: withDuration(timing, untilMs - fromMs) },
      entries: [],
    })),
  )
}

/**
 * Whether the controller that reports the end has led since the start, and has never been silent since. A controller that was away,
 * or that could not reach the API, sees an end late, and the duration would be that of its silence.
 */
async function wasWatched(api: Api, { actor, epoch }: Report, fromMs: number): Promise<boolean> {
  const instances = await api.instances.list({ where: { service: actor.service ?? '' }, limit: 1000 })
  const leader = instances.find(each => each.is_leader && each.epoch === epoch)
  if (leader === undefined || leader.since === null) return false
  const { since, unbroken_since, seen_at } = leader
  const isAlive = api.clock.now() - toMs(seen_at) <= LEADER_SILENT_MS
  return isAlive && toMs(since) <= fromMs && unbroken_since !== null && toMs(unbroken_since) <= fromMs
}
