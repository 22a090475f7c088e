import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { budgetStartMs } from '@lcm/domain/fleet/budget'
import { DISK_USD_PER_GB_MONTH } from '@lcm/domain/fleet/instance-types'
import { CalendarDefinition, CalendarSession } from '@lcm/domain/forecast/fleet-calendar'
import { toInstant, toMs } from '@lcm/domain/instant'
import { seatCount } from '@lcm/domain/license/license-pool'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { costIntervalsSince } from '../fleet/fleet-cost.ts'
import { costByDay } from '../fleet/fleet-summary.ts'
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
  const workers = await listAllWorkers(api)
  return {
    at: toInstant(nowMs),
    until: toInstant(untilMs),
    region,
    sessions,
    definitions: await definitionsOf(api, used),
    workers: workers.filter(({ status }) => status !== 'TERMINATED').map(withoutHistory),
    templates: await listAll(api.templates),
    settings: await currentSettings(api),
    timings: await listAll(api.timings),
    licenses: (await listAll(api.licensePools)).map(pool => ({ product: pool.product, free: seatCount(pool).free })),
    spent_by_day: await spentThisMonth(api, workers),
    disk_usd_per_gb_month: api.config.regionFacts?.[region]?.disk_usd_per_gb_month ?? DISK_USD_PER_GB_MONTH,
  }
}

async function spentThisMonth(api: Api, workers: readonly Worker[]): Promise<Calendar['spent_by_day']> {
  const now = toInstant(api.clock.now())
  const since = toInstant(budgetStartMs({ budget_usd_per_day: 'off', budget_usd_per_month: 0 }, toMs(now)))
  const intervals = await costIntervalsSince(api, since, { workers, now })
  const days = costByDay(
    intervals.map(({ interval }) => interval),
    since,
    now,
  )
  return days.map(({ day, spent_usd }) => ({ day, spent_usd }))
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
