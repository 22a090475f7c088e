import { copiedProfile } from '@lcm/domain/calendar/capacity-profile'
import { followedSpan, followTimings } from '@lcm/domain/calendar/follow-timings'
import { type Span, spanOf } from '@lcm/domain/calendar/span'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Reason } from '@lcm/domain/reason'
import { isOver } from '@lcm/domain/session/lablet-session'
import type { Api } from '../../api-context.ts'
import { pagesOf } from '../list-documents.ts'
import { currentSettings } from '../settings/queries.ts'
import { currentTimings } from '../timing/queries.ts'
import { acceptAndFinish, decided } from './admit-sessions.ts'
import { BATCH_CHANGES_MAX } from './calendar-head.ts'
import { inSlices, pauses } from './capacity-calendar.ts'

/**
 * Gives promises the spans that their labs need by the latest timings, where the capacity allows it. Returns the reasons of the others
 * by session id.
 */
export async function promiseByTimings(api: Api): Promise<ReadonlyMap<string, Reason>> {
  const wanted = await movedSpans(api)
  if (wanted.size === 0) return new Map()
  return decided(api, async (head, profile) => {
    const { changed, short } = await inSlices(api.clock, followTimings(copiedProfile(profile), wanted))
    const sessions = changed.slice(0, BATCH_CHANGES_MAX).map(({ id, fromMs, untilMs, machine }) => ({
      id,
      span: { from: toInstant(fromMs), until: toInstant(untilMs) },
      machine,
    }))
    if (sessions.length > 0 && (await acceptAndFinish(api, head, { kind: 'move', sessions })) === null) return null
    return short
  })
}

/** By id: the spans of waiting sessions whose labs need another time than when they were booked. */
async function movedSpans(api: Api): Promise<Map<string, Span>> {
  const settings = await currentSettings(api)
  const timings = await currentTimings(api)
  const definitions = new Map<string, LabletDefinition | null>()
  const moved = new Map<string, Span>()
  const nowMs = api.clock.now()
  const pause = pauses(api.clock)
  for await (const page of pagesOf(api.sessions, { where: { status: 'PENDING' } }, PAGE)) {
    for (const session of page) {
      const { id, admission, worker_id } = session
      if (admission.kind !== 'admitted' || admission.span === null || worker_id !== null || isOver(session)) continue
      const key = session.definition.id
      if (!definitions.has(key)) definitions.set(key, await api.definitions.get(key))
      const definition = definitions.get(key)
      if (definition === null || definition === undefined) continue
      const promised = { fromMs: toMs(admission.span.from), untilMs: toMs(admission.span.until) }
      const span = followedSpan(promised, spanOf(session, definition, timings, settings), nowMs)
      if (span !== null) moved.set(id, span)
    }
    await pause()
  }
  return moved
}
/** Other requests are served between the pages. */
const PAGE = 50
