import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { changeCapacity, settle } from '@lcm/domain/calendar/capacity-profile'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api, Request } from '../../api-context.ts'
import { decided } from './admit-sessions.ts'
import { inSlices } from './capacity-calendar.ts'
import { capacityNow } from './follow-calendar.ts'

const SHOWN_MAX = 100

/** The admitted sessions that a change would leave without capacity. Promises nothing and changes nothing. */
export async function previewCapacity(
  api: Api,
  { body }: Request<object, unknown, BodyOf<'previewCapacity'>>,
): Promise<AnswerOf<'previewCapacity'>> {
  const ids = await decided(api, async (_, profile) => {
    const before = new Set(profile.unplaced.keys())
    // The profile is changed to find out, so it must not be used again.
    const workers = api.calendar.known?.workers.values() ?? []
    api.calendar.known = null
    changeCapacity(profile, await capacityNow(api, workers, body))
    await inSlices(api.clock, settle(profile))
    return [...profile.unplaced.keys()].filter(id => !before.has(id))
  })
  const sessions = await Promise.all(ids.map(id => api.sessions.get(id)))
  const shown = sessions
    .filter((session): session is LabletSession => session !== null)
    .sort((a, b) => (a.timeslot.start < b.timeslot.start ? -1 : 1))
    .slice(0, SHOWN_MAX)
  return {
    affected: ids.length,
    sessions: shown.map(({ id, definition, owner_name, owner, timeslot }) => ({
      id,
      definition: definition.name,
      owner_name: owner_name === '' ? owner : owner_name,
      start: timeslot.start,
    })),
  }
}
