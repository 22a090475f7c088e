import type { SimState } from '../sim-state.ts'
import { type CustomDatum, customMetrics, customPoints, putPoints, unitOf } from './custom-metrics.ts'
import { dimensionSets, MEASURES } from './machine-metric-catalog.ts'
import { type LoadOf, machinePoints, type TimeRange } from './machine-points.ts'
import { inPeriods, type Metric, type Point } from './metric.ts'

/** CloudWatch's behavior, independent of its protocol. */
export interface Cloudwatch {
  /** Visible points of a metric, aggregated by period, in ascending order. */
  points(region: string, query: PointsQuery): readonly Point[]
  /** Metrics of callers and of machines that EC2 still shows. */
  metrics(region: string): readonly Metric[]
  unit(region: string, metric: Metric): string
  put(region: string, data: readonly CustomDatum[]): void
  /** Sets the source of machine load, which the metrics then show. */
  setLoad(loadOf: LoadOf): void
}

export interface PointsQuery {
  readonly metric: Metric
  readonly range: TimeRange
  readonly periodMs: number
}

export function cloudwatchOf(sim: SimState): Cloudwatch {
  let loadOf: LoadOf = () => null
  return {
    points(region, { metric, range, periodMs }) {
      const all = [
        ...machinePoints({ sim, loadOf }, region, { metric, range }),
        ...customPoints(sim, region, { metric, range }),
      ]
      return inPeriods(all, periodMs)
    },
    metrics: region => [...machineMetrics(sim, region), ...customMetrics(sim, region)],
    unit: (region, metric) => measureOf(metric)?.unit ?? unitOf(sim, region, metric) ?? 'None',
    put: (region, data) => putPoints(sim, region, data),
    setLoad(given) {
      loadOf = given
    },
  }
}

const measureOf = ({ namespace, name }: Metric) =>
  MEASURES.find(measure => measure.namespace === namespace && measure.name === name)

function machineMetrics(sim: SimState, region: string): readonly Metric[] {
  const ran = sim
    .instancesIn(region)
    .filter(({ timeline }) => timeline.some(moment => moment.state === 'running' && moment.from_ms <= sim.now()))
  return ran.flatMap(instance =>
    MEASURES.flatMap(measure =>
      dimensionSets(measure, instance, sim.faults.plan().agent_dimensions).map(dimensions => ({
        namespace: measure.namespace,
        name: measure.name,
        dimensions,
      })),
    ),
  )
}
