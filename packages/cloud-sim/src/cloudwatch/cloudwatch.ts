import type { SimState } from '../sim-state.ts'
import { type CustomDatum, customMetrics, customPoints, putPoints, unitOf } from './custom-points.ts'
import { type LoadOf, machinePoints, type TimeRange } from './machine-points.ts'
import { dimensionSets, MEASURES } from './measures.ts'
import { inPeriods, type Metric, type Point } from './metric.ts'

/** CloudWatch as it behaves, whatever the wire. */
export interface Cloudwatch {
  /** Visible points of a metric, aggregated by period, in ascending order. */
  points(region: string, query: PointsQuery): readonly Point[]
  /** Everything that was published of machines that EC2 still knows, and by callers. */
  metrics(region: string): readonly Metric[]
  unit(region: string, metric: Metric): string
  put(region: string, data: readonly CustomDatum[]): void
  /** Tells how busy machines are, which their measures then show. */
  setLoad(loadOf: LoadOf): void
}

export interface PointsQuery {
  readonly metric: Metric
  readonly range: TimeRange
  readonly periodMs: number
}

export function cloudwatchOf(world: SimState): Cloudwatch {
  let loadOf: LoadOf = () => null
  return {
    points(region, { metric, range, periodMs }) {
      const all = [
        ...machinePoints({ world, loadOf }, region, { metric, range }),
        ...customPoints(world, region, { metric, range }),
      ]
      return inPeriods(all, periodMs)
    },
    metrics: region => [...machineMetrics(world, region), ...customMetrics(world, region)],
    unit: (region, metric) => measureOf(metric)?.unit ?? unitOf(world, region, metric) ?? 'None',
    put: (region, data) => putPoints(world, region, data),
    setLoad(given) {
      loadOf = given
    },
  }
}

const measureOf = ({ namespace, name }: Metric) =>
  MEASURES.find(measure => measure.namespace === namespace && measure.name === name)

function machineMetrics(world: SimState, region: string): readonly Metric[] {
  const ran = world
    .instancesIn(region)
    .filter(({ timeline }) => timeline.some(moment => moment.state === 'running' && moment.from_ms <= world.now()))
  return ran.flatMap(instance =>
    MEASURES.flatMap(measure =>
      dimensionSets(measure, instance, world.faults.plan().agent_dimensions).map(dimensions => ({
        namespace: measure.namespace,
        name: measure.name,
        dimensions,
      })),
    ),
  )
}
