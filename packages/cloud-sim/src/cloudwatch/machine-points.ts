import type { SimInstance } from '../ec2/instance.ts'
import { scaled } from '../ec2/start-plan.ts'
import type { SimState } from '../sim-state.ts'
import { dimensionSets, instanceIdIn, MEASURES, type Measure } from './machine-metric-catalog.ts'
import { type Metric, type Point, sameDimensions } from './metric.ts'

/** Load of a machine between 0 and 1; null when unknown. */
export type LoadOf = (instanceId: string) => number | null

export interface TimeRange {
  readonly from_ms: number
  /** Exclusive. */
  readonly to_ms: number
}

/** A basic period of five minutes is made of five samples. */
const SAMPLES = 5

/** Published points of a machine that CloudWatch already shows. */
export function machinePoints(
  { sim, loadOf }: { readonly sim: SimState; readonly loadOf: LoadOf },
  region: string,
  { metric, range }: { readonly metric: Metric; readonly range: TimeRange },
): readonly Point[] {
  const instance = sim.instances.get(instanceIdIn(metric.dimensions) ?? '')
  const measure = MEASURES.find(({ namespace, name }) => namespace === metric.namespace && name === metric.name)
  if (!instance || !measure || instance.region !== region) return []
  const plan = sim.faults.plan()
  const sets = dimensionSets(measure, instance, plan.agent_dimensions)
  if (!sets.some(set => sameDimensions(set, metric.dimensions))) return []
  const shownMs = sim.now() - scaled(sim, plan.metric_delay_s)
  return stepsIn(range, measure.stepMs, shownMs)
    .filter(atMs => ranWithin(instance, { from_ms: atMs, to_ms: atMs + measure.stepMs }))
    .filter(atMs => !isGap(sim, { instance, measure, atMs }))
    .map(atMs => pointAt(sim, { instance, measure, atMs }, loadOf(instance.instance_id)))
}

function stepsIn({ from_ms, to_ms }: TimeRange, stepMs: number, shownMs: number): readonly number[] {
  const first = Math.ceil(from_ms / stepMs) * stepMs
  const count = Math.max(0, Math.ceil((Math.min(to_ms, shownMs - stepMs + 1) - first) / stepMs))
  return Array.from({ length: count }, (_, n) => first + n * stepMs)
}

function ranWithin({ timeline }: SimInstance, { from_ms, to_ms }: TimeRange): boolean {
  return timeline.some((moment, n) => {
    const endMs = timeline[n + 1]?.from_ms ?? Number.POSITIVE_INFINITY
    return moment.state === 'running' && moment.from_ms < to_ms && endMs > from_ms
  })
}

interface Step {
  readonly instance: SimInstance
  readonly measure: Measure
  readonly atMs: number
}

function isGap(sim: SimState, { instance, measure, atMs }: Step): boolean {
  const { metric_gap_rate: rate } = sim.faults.plan()
  return rate > 0 && sim.chance.fraction('gap', instance.number, measure.name, atMs) < rate
}

function pointAt(sim: SimState, { instance, measure, atMs }: Step, known: number | null): Point {
  const nature = sim.chance.fraction('nature', instance.number)
  const load = known ?? dayCurve(atMs) * (0.15 + 0.5 * nature)
  const noise = sim.chance.fraction('noise', instance.number, measure.name, atMs)
  const value = measure.value({ load, noise, nature })
  if (measure.stepMs < SAMPLES * 60_000) return { at_ms: atMs, sum: value, count: 1, min: value, max: value }
  const each = measure.kind === 'amount' ? value / SAMPLES : value
  return { at_ms: atMs, sum: each * SAMPLES, count: SAMPLES, min: each * 0.9, max: each * 1.1 }
}

const DAY_MS = 86_400_000
/** In UTC: load is lowest at 04:00. */
const QUIETEST = 4 / 24

const dayCurve = (atMs: number) => 0.5 - 0.5 * Math.cos(2 * Math.PI * ((atMs % DAY_MS) / DAY_MS - QUIETEST))
