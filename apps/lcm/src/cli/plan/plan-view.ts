import { mayView } from '@lcm/contract/route-spec'
import type { AnswerOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import type { HealthStatus } from '@lcm/domain/health'
import { withHealth } from '@lcm/domain/health'
import { toMs } from '@lcm/domain/instant'
import { PLAN_MAX } from '@lcm/domain/service-instance'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { actionWords, planCounts, planKindOf } from '@lcm/domain/text/action-words'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import { resourceText } from '../fleet/resource-reference-text.ts'
import { isSilent, leaderOf, type Service } from '../service/service-view.ts'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import { type Column, columnWidths, printable, rowLines } from '../terminal/table.ts'
import type { WorkerNames } from '../worker/worker-names.ts'
import { ageOf } from '../worker/worker-view.ts'

export type FleetPlan = AnswerOf<'getFleetPlan'>
type Item = FleetPlan['items'][number]

export interface PlanFacts {
  readonly plan: FleetPlan
  readonly services: readonly Service[]
  readonly names: WorkerNames
  readonly sessions: readonly LabletSession[]
  readonly actor: Omit<Actor, 'service'>
}

/** The planned actions of one service. */
export interface ServicePlan {
  readonly service: string
  /** Warning that the plan is missing, stale or shortened; null if it is complete. */
  readonly caveat: string | null
  /** Time of the last report of the leader; null if there is none. */
  readonly reported_at: string | null
  readonly items: readonly Item[]
}

/** Plans in the order of services, each sorted by due time. */
export function planByService({ plan, services }: Pick<PlanFacts, 'plan' | 'services'>): ServicePlan[] {
  const nowMs = toMs(plan.at)
  const known = new Set(services.map(({ service }) => service))
  const strays = [...new Set(plan.items.map(({ service }) => service))].filter(name => !known.has(name))
  const itemsOf = (name: string) => plan.items.filter(({ service }) => service === name).toSorted(bySoonest)
  return [
    ...services.map(service => ({
      service: service.service,
      reported_at: leaderOf(service)?.seen_at ?? null,
      caveat: caveatOf(service, itemsOf(service.service).length, nowMs),
      items: itemsOf(service.service),
    })),
    ...strays.map(service => ({ service, caveat: null, reported_at: null, items: itemsOf(service) })),
  ]
}

const dueMs = ({ due_at }: Item): number => (due_at === null ? 0 : toMs(due_at))
const bySoonest = (a: Item, b: Item): number => dueMs(a) - dueMs(b)

/** `nowMs` is the time of the API, whose clock wrote the timestamps. */
function caveatOf(service: Service, count: number, nowMs: number): string | null {
  const leader = leaderOf(service)
  if (service.instances.length === 0) return 'not running, no plan'
  if (leader === null) return 'no leader: no decisions until a replica leads'
  if (isSilent(leader, nowMs)) return `stale: last heartbeat of its leader ${ageOf(leader.seen_at, nowMs)} ago`
  return count >= PLAN_MAX ? `showing only the next ${PLAN_MAX} actions` : null
}

/** The part of the plan that the actor may not see; null if they see everything. */
export const leftOutFor = (actor: PlanFacts['actor']): string | null =>
  mayView({ ...actor, service: null }, '') ? null : `sessions of others, because your role is ${actor.role}`

/** One line per planned action, grouped by service. */
export function planLines(facts: PlanFacts, colors: Colors): string[] {
  const leftOut = leftOutFor(facts.actor)
  return [...plannedLines(facts, colors), ...(leftOut === null ? [] : ['', `Left out: ${leftOut}.`])]
}

function plannedLines({ plan, services, names, sessions }: PlanFacts, colors: Colors): string[] {
  const plans = planByService({ plan, services })
  if (plans.every(({ items, caveat }) => items.length === 0 && caveat === null)) return ['Nothing to do.']
  const columns = planColumns({ names, sessions }, toMs(plan.at))
  const widths = columnWidths(columns.map(untitled), plan.items)
  return plans.flatMap((each, index) => [
    ...(index === 0 ? [] : ['']),
    `${colors.bold(printable(each.service))}  ${headOf(each, toMs(plan.at), colors)}`,
    ...rowLines(columns, each.items, widths).map(line => `  ${line}`),
  ])
}

const untitled = (column: Column<Item>): Column<Item> => ({ ...column, title: '' })

function headOf({ caveat, reported_at, items }: ServicePlan, nowMs: number, colors: Colors): string {
  const age = reported_at === null ? '' : `, as of ${ageOf(reported_at, nowMs)} ago`
  const count = planCounts(items)
  if (caveat === null) return `${count}${age}`
  return items.length === 0 ? colors.yellow(caveat) : `${count}; ${colors.yellow(caveat)}`
}

function whenOf(item: Item, nowMs: number): string {
  if (planKindOf(item.action) === 'blocked') return '-'
  return dueMs(item) <= nowMs ? 'now' : `in ${formatDuration(dueMs(item) - nowMs)}`
}

/** The health of the worker or session that a plan is about. */
function healthOf(resource: string, { names, sessions }: Known): HealthStatus {
  const [kind, id = ''] = resource.split(':')
  if (kind === 'session') return sessions.find(session => session.id === id)?.health.status ?? 'OK'
  const worker = kind === 'worker' ? names.find(id) : null
  return worker === null ? 'OK' : workerHealth(worker).status
}

type Known = Pick<PlanFacts, 'names' | 'sessions'>

const planColumns = (known: Known, nowMs: number): readonly Column<Item>[] => [
  { title: 'WHEN', text: item => whenOf(item, nowMs) },
  { title: 'ACTION', text: ({ action }) => actionWords(action) },
  {
    title: 'RESOURCE',
    text: ({ resource }) => withHealth(resourceText(resource, known.names), healthOf(resource, known)),
  },
  { title: 'REASON', text: ({ because }) => because.message },
]
