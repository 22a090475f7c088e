import type { CustomDatum } from '../cloudwatch/custom-metrics.ts'
import {
  type Dimension,
  isStatistic,
  type Metric,
  type Point,
  type Statistic,
  statisticOf,
} from '../cloudwatch/metric.ts'
import { pageOf } from '../ec2/filters-and-paging.ts'
import { Ec2Refusal } from '../ec2/refusal.ts'
import type { SimModel } from '../sim-model.ts'
import { type JsonText, splitJson } from './json-member-reader.ts'

const PREFIX = 'GraniteServiceVersion20100801.'

/** The name of the call in `x-amz-target`, or null for another service. */
export const cloudwatchTarget = (target: string | null): string | null =>
  target?.startsWith(PREFIX) ? target.slice(PREFIX.length) : null

type Watching = Pick<SimModel, 'cloudwatch' | 'now' | 'admit'>
type Action = (model: Watching, region: string, body: JsonText) => object

const ACTIONS: Readonly<Record<string, Action>> = {
  GetMetricData: getMetricData,
  GetMetricStatistics: getMetricStatistics,
  ListMetrics: listMetrics,
  PutMetricData: putMetricData,
}

export function performCloudwatch(
  model: Watching,
  region: string,
  { target, body }: { readonly target: string; readonly body: string },
): object {
  const action = Object.hasOwn(ACTIONS, target) ? ACTIONS[target] : undefined
  if (!action) throw new Ec2Refusal('InvalidAction', `The action ${target} is not simulated`)
  const parts = splitJson(body)
  admitted(model, region, { target, isLaterPage: parts.has('NextToken') })
  return action(model, region, parts)
}

/** CloudWatch has its own error code for throttling. */
function admitted(
  { admit }: Watching,
  region: string,
  { target, isLaterPage }: { readonly target: string; readonly isLaterPage: boolean },
): void {
  try {
    admit({ region, action: target, request: { next_token: isLaterPage ? 'given' : null } })
  } catch (error) {
    if (!(error instanceof Ec2Refusal) || error.code !== 'RequestLimitExceeded') throw error
    throw new Ec2Refusal('Throttling', 'Rate exceeded')
  }
}

const QUERIES_MAX = 500
/** Below the maximum of a call, so that clients get several pages. */
const RESULTS_PER_PAGE = 200
const POINTS_PER_STATISTICS_MAX = 1440

const refused = (message: string) => new Ec2Refusal('ValidationError', message)

function getMetricData({ cloudwatch }: Watching, region: string, body: JsonText): object {
  const queries = body.list('MetricDataQueries')
  if (queries.length === 0 || queries.length > QUERIES_MAX) {
    throw refused(`The parameter MetricDataQueries must have 1 to ${QUERIES_MAX} members, not ${queries.length}`)
  }
  const range = rangeOf(body)
  const ids = queries.map(query => query.text('Id'))
  const wrong = ids.find((id, n) => !/^[a-z][A-Za-z0-9_]{0,254}$/.test(id) || ids.indexOf(id) !== n)
  if (wrong !== undefined)
    throw refused(`The value ${wrong} for parameter MetricDataQueries.Id is not matching or not unique`)
  const newestFirst = body.textOr('ScanBy', 'TimestampDescending') === 'TimestampDescending'
  const results = queries.map(query => {
    const { metric, periodMs, statistic } = metricStat(query)
    const points = cloudwatch.points(region, { metric, range, periodMs })
    const ordered = newestFirst ? points.toReversed() : points
    return {
      Id: query.text('Id'),
      Label: query.textOr('Label', metric.name),
      StatusCode: 'Complete',
      Timestamps: ordered.map(point => point.at_ms / 1000),
      Values: ordered.map(point => statisticOf(point, statistic)),
    }
  })
  const page = pageOf(results, result => results.indexOf(result), {
    max_results: RESULTS_PER_PAGE,
    next_token: body.has('NextToken') ? body.text('NextToken') : null,
  })
  return {
    MetricDataResults: page.items,
    Messages: [],
    ...(page.next_token === null ? {} : { NextToken: page.next_token }),
  }
}

function metricStat(query: JsonText): { metric: Metric; periodMs: number; statistic: Statistic } {
  if (!query.has('MetricStat')) throw refused('Expressions are not simulated; ask for a MetricStat')
  const stat = query.part('MetricStat')
  const statistic = stat.text('Stat')
  if (!isStatistic(statistic)) throw refused(`The statistic ${statistic} is not simulated`)
  return { metric: metricOf(stat.part('Metric')), periodMs: periodOf(stat), statistic }
}

function periodOf(parts: JsonText): number {
  const seconds = parts.number('Period')
  if ([1, 5, 10, 20, 30].includes(seconds) || (seconds > 0 && seconds % 60 === 0)) return seconds * 1000
  throw refused(`The parameter Period must be 1, 5, 10, 20, 30 or a multiple of 60, not ${seconds}`)
}

function rangeOf(parts: JsonText) {
  const range = { from_ms: parts.number('StartTime') * 1000, to_ms: parts.number('EndTime') * 1000 }
  if (range.from_ms < range.to_ms) return range
  throw refused('The parameter EndTime must be greater than StartTime.')
}

const metricOf = (parts: JsonText): Metric => ({
  namespace: parts.text('Namespace'),
  name: parts.text('MetricName'),
  dimensions: dimensionsOf(parts),
})

const DIMENSIONS_MAX = 30

function dimensionsOf(parts: JsonText): readonly Dimension[] {
  const dimensions = parts.list('Dimensions').map(each => ({ name: each.text('Name'), value: each.text('Value') }))
  if (dimensions.length > DIMENSIONS_MAX) throw refused(`A metric has at most ${DIMENSIONS_MAX} dimensions`)
  return dimensions
}

function getMetricStatistics({ cloudwatch }: Watching, region: string, body: JsonText): object {
  const metric = metricOf(body)
  const unknown = body.texts('Statistics').find(name => !isStatistic(name))
  if (unknown !== undefined) throw refused(`The statistic ${unknown} is not simulated`)
  const statistics = body.texts('Statistics').filter(isStatistic)
  if (statistics.length === 0) throw refused('The parameter Statistics must name at least one')
  const points = cloudwatch.points(region, { metric, range: rangeOf(body), periodMs: periodOf(body) })
  if (points.length > POINTS_PER_STATISTICS_MAX) {
    const message = `You have requested up to ${points.length} datapoints, which exceeds the limit of ${POINTS_PER_STATISTICS_MAX}.`
    throw new Ec2Refusal('InvalidParameterCombination', message)
  }
  const unit = cloudwatch.unit(region, metric)
  return { Label: metric.name, Datapoints: points.map(point => datapoint(point, statistics, unit)) }
}

const datapoint = (point: Point, statistics: readonly Statistic[], Unit: string): object => ({
  Timestamp: point.at_ms / 1000,
  Unit,
  ...Object.fromEntries(statistics.map(statistic => [statistic, statisticOf(point, statistic)])),
})

function listMetrics({ cloudwatch }: Watching, region: string, body: JsonText): object {
  const wanted = body.list('Dimensions').map(each => ({ name: each.text('Name'), value: each.textOr('Value', '') }))
  const found = cloudwatch
    .metrics(region)
    .filter(({ namespace }) => namespace === body.textOr('Namespace', namespace))
    .filter(({ name }) => name === body.textOr('MetricName', name))
    .filter(({ dimensions }) =>
      wanted.every(({ name, value }) =>
        dimensions.some(own => own.name === name && (value === '' || own.value === value)),
      ),
    )
  const ranks = new Map(found.map((metric, n) => [metric, n]))
  const next_token = body.has('NextToken') ? body.text('NextToken') : null
  const page = pageOf(found, metric => ranks.get(metric) ?? 0, { max_results: QUERIES_MAX, next_token })
  return {
    Metrics: page.items.map(({ namespace, name, dimensions }) => ({
      Namespace: namespace,
      MetricName: name,
      Dimensions: dimensions.map(dimension => ({ Name: dimension.name, Value: dimension.value })),
    })),
    ...(page.next_token === null ? {} : { NextToken: page.next_token }),
  }
}

const DATA_MAX = 1000
const TWO_WEEKS_MS = 14 * 86_400_000
const TWO_HOURS_MS = 2 * 3_600_000

function putMetricData(model: Watching, region: string, body: JsonText): object {
  const namespace = body.text('Namespace')
  if (namespace.startsWith('AWS/'))
    throw new Ec2Refusal('InvalidParameterValue', 'The value AWS/ for parameter Namespace is invalid.')
  const data = body.list('MetricData')
  if (data.length === 0 || data.length > DATA_MAX) throw refused(`MetricData must have 1 to ${DATA_MAX} members`)
  model.cloudwatch.put(
    region,
    data.map(each => datum(model, namespace, each)),
  )
  return {}
}

function datum(model: Watching, namespace: string, parts: JsonText): CustomDatum {
  const at_ms = parts.has('Timestamp') ? parts.number('Timestamp') * 1000 : model.now()
  if (at_ms < model.now() - TWO_WEEKS_MS || at_ms > model.now() + TWO_HOURS_MS) {
    throw new Ec2Refusal(
      'InvalidParameterValue',
      'The parameter Timestamp must be within two weeks ago and two hours ahead.',
    )
  }
  const metric = { namespace, name: parts.text('MetricName'), dimensions: dimensionsOf(parts) }
  return { metric, unit: parts.has('Unit') ? parts.text('Unit') : null, point: { at_ms, ...measured(parts) } }
}

function measured(parts: JsonText): Omit<Point, 'at_ms'> {
  if (parts.has('StatisticValues')) {
    const set = parts.part('StatisticValues')
    return {
      sum: set.number('Sum'),
      count: set.number('SampleCount'),
      min: set.number('Minimum'),
      max: set.number('Maximum'),
    }
  }
  const values = parts.has('Values') ? parts.numbers('Values') : [parts.number('Value')]
  const counts = parts.has('Counts') ? parts.numbers('Counts') : values.map(() => 1)
  if (values.length === 0 || counts.length !== values.length)
    throw refused('Values and Counts must be of the same length')
  return {
    sum: values.reduce((sum, value, n) => sum + value * (counts[n] ?? 1), 0),
    count: counts.reduce((sum, count) => sum + count, 0),
    min: Math.min(...values),
    max: Math.max(...values),
  }
}
