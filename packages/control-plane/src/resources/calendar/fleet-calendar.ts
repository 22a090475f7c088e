import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { DISK_USD_PER_GB_MONTH } from '@lcm/domain/fleet/instance-types'
import { CalendarDefinition, CalendarSession } from '@lcm/domain/forecast/fleet-calendar'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { listAll, pagesOf } from '../list-documents.ts'
import { currentSettings } from '../settings/queries.ts'
import { listAllWorkers } from '../worker/queries.ts'

type Calendar = AnswerOf<'getCalendar'>

const DAY_MS = 86_400_000
/** While the fleet changes, it is read again so often. */
const READS_MAX = 3

/** One state of the fleet: it is read again if anything changed meanwhile. In a fleet that never rests, the last read counts. */
export async function fleetCalendar(api: Api, { days }: QueryOf<'getCalendar'>): Promise<Calendar> {
  for (let reads = 1; ; reads += 1) {
    const before = await api.feed.position()
    const calendar = await readCalendar(api, days)
    if (reads >= READS_MAX || (await api.feed.position()) === before) return calendar
  }
}

async function readCalendar(api: Api, days: number): Promise<Calendar> {
  const nowMs = api.clock.now()
  const untilMs = nowMs + days * DAY_MS
  const sessions = await openSessions(api, untilMs)
  const used = new Set(sessions.map(({ definition }) => definition.id))
  const region = api.config.regions[0]
  return {
    at: toInstant(nowMs),
    until: toInstant(untilMs),
    region,
    sessions,
    definitions: await definitionsOf(api, used),
    workers: (await listAllWorkers(api)).filter(({ status }) => status !== 'TERMINATED').map(withoutHistory),
    templates: await listAll(api.templates),
    settings: await currentSettings(api),
    timings: await listAll(api.timings),
    disk_usd_per_gb_month: api.config.regionFacts?.[region]?.disk_usd_per_gb_month ?? DISK_USD_PER_GB_MONTH,
  }
}

async function openSessions(api: Api, untilMs: number): Promise<CalendarSession[]> {
  const open: CalendarSession[] = []
  for await (const page of pagesOf(api.sessions, { where: { is_over: 'no' } }))
    for (const session of page) if (toMs(session.timeslot.start) < untilMs) open.push(CalendarSession.parse(session))
  return open
}

async function definitionsOf(api: Api, ids: ReadonlySet<string>): Promise<CalendarDefinition[]> {
  const found: CalendarDefinition[] = []
  for (const id of ids) {
    const definition = await api.definitions.get(id)
    if (definition !== null) found.push(CalendarDefinition.parse(definition))
  }
  return found
}

/** The plan reads when a machine was started last. */
const CHANGES_KEPT = 5

/** Most of the history is left out: it is most of a worker's size. */
const withoutHistory = (worker: Worker): Worker => ({
  ...worker,
  state_history: worker.state_history.slice(-CHANGES_KEPT),
  activity: { ...worker.activity, recent_events: [] },
  applied_keys: [],
})
