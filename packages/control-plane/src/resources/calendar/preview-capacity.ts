import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { capacityOf, changedFacts } from '@lcm/domain/calendar/capacity'
import { changeCapacity, copiedProfile, settle } from '@lcm/domain/calendar/capacity-profile'
import { effectiveSettings, patchedSettings, SETTINGS_ID, type SettingValues } from '@lcm/domain/fleet/settings'
import { freeSeatsOf } from '@lcm/domain/license/license-pool'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api, Request } from '../../api-context.ts'
import { listAll } from '../list-documents.ts'
import { decided } from './admit-sessions.ts'
import { inSlices } from './capacity-calendar.ts'
import { capacityFacts } from './follow-calendar.ts'

type Change = BodyOf<'previewCapacity'>

const SHOWN_MAX = 200

/** The admitted sessions that a change would leave without capacity. Promises nothing and changes nothing. */
export async function previewCapacity(
  api: Api,
  { body }: Request<object, unknown, Change>,
): Promise<AnswerOf<'previewCapacity'>> {
  const { profile, workers } = await decided(api, async (_, current) => ({
    profile: copiedProfile(current),
    workers: new Map(api.calendar.known?.workers),
  }))
  const before = new Set(profile.unplaced.keys())
  const facts = await capacityFacts(api, { workers, spending: null })
  const after = { ...body, settings: await settingsAfter(api, body), licenses: await licensesAfter(api, body) }
  await inSlices(api.clock, changeCapacity(profile, capacityOf(changedFacts(facts, after))))
  await inSlices(api.clock, settle(profile))
  const lost = [...profile.unplaced.values()].filter(({ id }) => !before.has(id))
  const first = lost.toSorted((a, b) => a.span.fromMs - b.span.fromMs).slice(0, SHOWN_MAX)
  const sessions = await Promise.all(first.map(({ id }) => api.sessions.get(id)))
  const shown = sessions
    .filter((session): session is LabletSession => session !== null)
    .sort((a, b) => (a.timeslot.start < b.timeslot.start ? -1 : 1))
  return {
    affected: lost.length,
    sessions: shown.map(({ id, definition, owner_name, owner, timeslot }) => ({
      id,
      definition: definition.name,
      owner_name: owner_name === '' ? owner : owner_name,
      start: timeslot.start,
    })),
  }
}

async function settingsAfter({ settings, config }: Api, change: Change): Promise<SettingValues> {
  const given = (await settings.get(SETTINGS_ID))?.given ?? {}
  return effectiveSettings(patchedSettings(given, change.settings), config.settings)
}

/** A terminated worker returns its license. */
async function licensesAfter(api: Api, { license_pools, terminated_workers }: Change) {
  const seatsAfter = new Map(license_pools.map(({ product, seats }) => [product, seats]))
  const pools = await listAll(api.licensePools)
  return freeSeatsOf(
    pools.map(({ product, seats, taken }) => {
      const used = Object.keys(taken).filter(id => !terminated_workers.includes(id)).length
      return { product, free: Math.max(0, (seatsAfter.get(product) ?? seats) - used) }
    }),
  )
}
