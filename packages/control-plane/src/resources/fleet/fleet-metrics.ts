import type { AnswerOf } from '@lcm/contract/routes'
import { affectedSessions } from '@lcm/domain/fleet/affected-sessions'
import { WARNING_KINDS } from '@lcm/domain/fleet/fleet-warning'
import { toMs } from '@lcm/domain/instant'
import { seatCount } from '@lcm/domain/license/license-pool'
import { wantsSeat } from '@lcm/domain/license/seat-decisions'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { lostSession } from '@lcm/domain/session/session-health'
import { diskPerHour } from '@lcm/domain/worker/cost'
import type { Worker } from '@lcm/domain/worker/worker'
import { COST_SHARES } from '@lcm/domain/worker/worker-field-schemas'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import type { Api } from '../../api-context.ts'
import { withDeadline } from '../../http/with-deadline.ts'
import { listAll } from '../list-documents.ts'
import { listAllWorkers } from '../worker/queries.ts'
import { fleetSummary } from './fleet-summary.ts'
import { fleetWarnings } from './fleet-warnings.ts'

/** Shorter than the scrape timeout of Prometheus. */
const STORE_MS_MAX = 5_000

/** More are not counted. */
const NOTIFICATIONS_MAX = 1_000

type Labeled = Readonly<Record<string, number>>

/**
 * Fleet metrics in Prometheus text format. Every replica reports the same, so aggregate over one of them. Without the store it
 * reports only that.
 */
export async function fleetMetrics(api: Api, openStreams: number): Promise<string> {
  const own = gauge('control_plane_event_streams', 'open event streams of this replica', openStreams)
  try {
    const fleet = await withDeadline(api.clock, STORE_MS_MAX, fleetGauges(api))
    return [own, storeUp(1), ...fleet].join('')
  } catch {
    return [own, storeUp(0)].join('')
  }
}

const storeUp = (value: 0 | 1): string => gauge('control_plane_store_up', '1 when the store responds, else 0', value)

async function fleetGauges(api: Api): Promise<string[]> {
  const { workers, capacity, cost } = await fleetSummary(api, {})
  const warnings = await fleetWarnings(api)
  const leaks = await listAll(api.leaks)
  const all = await listAllWorkers(api)
  const unavailable = all.filter(worker => workerHealth(worker).status === 'DOWN').length
  const saves = await api.store.blobs.total()
  const notifications = async (status: string) =>
    (await api.notifications.list({ where: { status }, limit: NOTIFICATIONS_MAX })).length
  return [
    gauge('fleet_workers', 'workers by status', ['status', workers.by_status]),
    gauge('fleet_workers_idle', 'running workers without activity', workers.idle),
    gauge('fleet_capacity_usable', 'capacity that sessions can have now, by resource', ['resource', capacity.usable]),
    gauge('fleet_capacity_reserved', 'capacity that sessions reserve, by resource', ['resource', capacity.reserved]),
    gauge('fleet_workers_closed', 'workers that run and accept no sessions', capacity.closed_workers),
    gauge('fleet_workers_unavailable', 'workers that people can not use', unavailable),
    ...(await sessionGauges(api)),
    gauge('fleet_cost_per_hour_usd', 'current cost of the fleet per hour, by cause', ['cause', costByCause(all)]),
    gauge('fleet_workers_unknown_price', 'workers whose machine has no known price', cost.unknown_prices),
    gauge('fleet_spent_week_usd', 'cost of the last 7 days, by cause', ['cause', cost.by_cause]),
    gauge('fleet_saved_week_usd', 'savings of the last 7 days by pausing', cost.saved_usd),
    ...budgetGauges(warnings),
    gauge('saves', 'saved work of sessions', saves.count),
    gauge('saves_bytes', 'compressed size of all saves', saves.bytes),
    gauge(
      'fleet_license_leaks',
      'unresolved leaks of licenses that were lost with their machine',
      leaks.filter(({ resolved_at }) => resolved_at === null).length,
    ),
    ...(await licenseGauges(api)),
    gauge('lcm_notifications_queued', 'notifications that wait for delivery', await notifications('QUEUED')),
    gauge('lcm_notifications_dead', 'notifications that were given up', await notifications('DEAD')),
  ]
}

/** Budgets that are not set have no series. */
function budgetGauges({ budgets, items }: AnswerOf<'getFleetWarnings'>): string[] {
  const byPeriod = (usdOf: (budget: (typeof budgets)[number]) => number): Labeled =>
    Object.fromEntries(budgets.map(budget => [budget.period, usdOf(budget)]))
  const counts: Record<string, number> = Object.fromEntries(WARNING_KINDS.map(kind => [kind, 0]))
  for (const { kind } of items) counts[kind] = (counts[kind] ?? 0) + 1
  return [
    gauge('fleet_budget_usd', 'budget of the current period', ['period', byPeriod(each => each.limit_usd)]),
    gauge('fleet_budget_left_usd', 'what is left of the budget of the current period', [
      'period',
      byPeriod(each => each.left_usd),
    ]),
    gauge('fleet_warnings', 'warnings about budgets and about limits too low for what is booked', ['kind', counts]),
  ]
}

const HOUR_MS = 3_600_000

/** Sessions that their owners can't use as booked. */
async function sessionGauges(api: Api): Promise<string[]> {
  const live = await listAll(api.sessions, { where: { is_over: 'no' } })
  const lost = await listAll(api.sessions, { where: { was_lost: 'yes' } })
  const unhealthy: Record<string, number> = {}
  for (const { health, cause, sessions } of affectedSessions(live))
    if (health !== 'OK') {
      const labels = `health="${health}",cause="${cause.code}"`
      unhealthy[labels] = (unhealthy[labels] ?? 0) + sessions.length
    }
  const isRecent = (session: LabletSession): boolean =>
    toMs(lostSession(session)?.at ?? session.updated_at) > api.clock.now() - HOUR_MS
  // A session that no worker can ever hold is down before it begins.
  const isUnplaced = ({ status, health, timeslot }: LabletSession): boolean =>
    status === 'PENDING' && health.status === 'DOWN' && toMs(timeslot.start) <= api.clock.now()
  return [
    labeled('fleet_sessions_unhealthy', 'sessions that are degraded or down, by cause', unhealthy),
    gauge(
      'fleet_sessions_unplaced',
      'sessions that wait for a worker although their slot has begun',
      live.filter(isUnplaced).length,
    ),
    gauge(
      'fleet_sessions_lost_hour',
      'sessions that ended early or never had a lab, in the last hour',
      lost.filter(isRecent).length,
    ),
  ]
}

/** Seats of each license pool. Leaked seats are in use, and free for no worker. */
async function licenseGauges(api: Api): Promise<string[]> {
  const seats: Record<string, number> = {}
  const waiting: Record<string, number> = {}
  for (const pool of await listAll(api.licensePools)) {
    const leaked = Object.values(pool.taken).filter(({ leak_id }) => leak_id !== null).length
    const { free } = seatCount(pool)
    const states = { held: Object.keys(pool.taken).length - leaked, leaked, free }
    for (const [state, count] of Object.entries(states)) seats[`product="${pool.product}",state="${state}"`] = count
    const pooled = await listAll(api.workers, { where: { pooled: pool.product } })
    waiting[`product="${pool.product}"`] = pooled.filter(wantsSeat).length
  }
  return [
    labeled('fleet_license_seats', 'seats of license pools, by product and state', seats),
    labeled('fleet_license_seats_missing', 'workers that wait for a license seat, by product', waiting),
  ]
}

function costByCause(workers: readonly Worker[]): Labeled {
  const perHour = Object.fromEntries(COST_SHARES.map(share => [share, 0]))
  const add = (share: string, usd: number) => {
    perHour[share] = (perHour[share] ?? 0) + usd
  }
  for (const worker of workers) {
    add('disk', diskPerHour(worker))
    const { cause } = worker.billing
    if (cause !== null && cause !== 'stopped') add(cause, worker.cost_per_hour_usd ?? 0)
  }
  return perHour
}

function gauge(name: string, help: string, value: number | readonly [label: string, values: Labeled]): string {
  if (typeof value === 'number') return `${headOf(name, help)}${name} ${value}\n`
  const values = Object.entries(value[1]).map(([each, count]): [string, number] => [`${value[0]}="${each}"`, count])
  return labeled(name, help, Object.fromEntries(values))
}

/** Values by the text of their labels; none is a gauge without series. */
const labeled = (name: string, help: string, values: Labeled): string =>
  headOf(name, help) +
  Object.entries(values)
    .map(([labels, value]) => `${name}{${labels}} ${value}\n`)
    .join('')

const headOf = (name: string, help: string): string => `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`
