import { maySee } from '@lcm/contract/access'
import type { AnswerOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { PLAN_MAX } from '@lcm/domain/fleet/service-instance'
import { toMs } from '@lcm/domain/instant'
import { actionWords, planCounts, planKindOf } from '@lcm/domain/text/decision-words'
import { isSilent, leaderOf, type Service } from '../service/service-view.ts'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import { type Column, columnWidths, printable, rowLines } from '../terminal/table.ts'
import type { WorkerNames } from '../worker/worker-names.ts'
import { ageOf } from '../worker/worker-view.ts'
import { thingText } from './resource-ref.ts'

export type FleetPlan = AnswerOf<'getFleetPlan'>
type Item = FleetPlan['items'][number]

export interface PlanFacts {
  readonly plan: FleetPlan
  readonly services: readonly Service[]
  readonly names: WorkerNames
  readonly actor: Omit<Actor, 'service'>
}

/** What one service is about to do, and whether that may be taken at its word. */
export interface ServicePlan {
  readonly service: string
  /** Why there may be more to do than is said here; null when there is not. */
  readonly caveat: string | null
  /** When its leader said so; null where there is none. */
  readonly said_at: string | null
  readonly items: readonly Item[]
}

/** In the order of services, what is due first before the rest. */
export function planByService({ plan, services }: Pick<PlanFacts, 'plan' | 'services'>): ServicePlan[] {
  const nowMs = toMs(plan.at)
  const known = new Set(services.map(({ service }) => service))
  const strays = [...new Set(plan.items.map(({ service }) => service))].filter(name => !known.has(name))
  const itemsOf = (name: string) => plan.items.filter(({ service }) => service === name).toSorted(bySoonest)
  return [
    ...services.map(service => ({
      service: service.service,
      said_at: leaderOf(service)?.seen_at ?? null,
      caveat: caveatOf(service, itemsOf(service.service).length, nowMs),
      items: itemsOf(service.service),
    })),
    ...strays.map(service => ({ service, caveat: null, said_at: null, items: itemsOf(service) })),
  ]
}

const dueMs = ({ due_at }: Item): number => (due_at === null ? 0 : toMs(due_at))
const bySoonest = (a: Item, b: Item): number => dueMs(a) - dueMs(b)

/** By the clock of the API, which is whose moments they are. */
function caveatOf(service: Service, count: number, nowMs: number): string | null {
  const leader = leaderOf(service)
  if (service.instances.length === 0) return 'nobody runs it, so nobody plans'
  if (leader === null) return 'nobody leads: nothing is decided until a replica does'
  if (isSilent(leader, nowMs)) return `old: its leader was last heard of ${ageOf(leader.seen_at, nowMs)} ago`
  return count >= PLAN_MAX ? `only the ${PLAN_MAX} soonest are told` : null
}

/** What is planned and not told to this reader; null when they are told everything. */
export const leftOutFor = (actor: PlanFacts['actor']): string | null =>
  maySee({ ...actor, service: null }, '') ? null : `sessions of others, because your role is ${actor.role}`

/** A line for each thing, grouped by who would do it. */
export function planLines(facts: PlanFacts, colors: Colors): string[] {
  const leftOut = leftOutFor(facts.actor)
  return [...plannedLines(facts, colors), ...(leftOut === null ? [] : ['', `Left out: ${leftOut}.`])]
}

function plannedLines({ plan, services, names }: PlanFacts, colors: Colors): string[] {
  const plans = planByService({ plan, services })
  if (plans.every(({ items, caveat }) => items.length === 0 && caveat === null)) return ['Nothing to do.']
  const columns = planColumns(names, toMs(plan.at))
  const widths = columnWidths(columns.map(untitled), plan.items)
  return plans.flatMap((each, index) => [
    ...(index === 0 ? [] : ['']),
    `${colors.bold(printable(each.service))}  ${headOf(each, toMs(plan.at), colors)}`,
    ...rowLines(columns, each.items, widths).map(line => `  ${line}`),
  ])
}

const untitled = (column: Column<Item>): Column<Item> => ({ ...column, title: '' })

function headOf({ caveat, said_at, items }: ServicePlan, nowMs: number, colors: Colors): string {
  const said = said_at === null ? '' : `, as of ${ageOf(said_at, nowMs)} ago`
  const count = planCounts(items)
  if (caveat === null) return `${count}${said}`
  return items.length === 0 ? colors.yellow(caveat) : `${count}; ${colors.yellow(caveat)}`
}

function whenOf(item: Item, nowMs: number): string {
  if (planKindOf(item.action) === 'blocked') return '-'
  return dueMs(item) <= nowMs ? 'now' : `in ${formatDuration(dueMs(item) - nowMs)}`
}

const planColumns = (names: WorkerNames, nowMs: number): readonly Column<Item>[] => [
  { title: 'WHEN', text: item => whenOf(item, nowMs) },
  { title: 'ACTION', text: ({ action }) => actionWords(action) },
  { title: 'THING', text: ({ resource }) => thingText(resource, names) },
  { title: 'BECAUSE', text: ({ because }) => because },
]
