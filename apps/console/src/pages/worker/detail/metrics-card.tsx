import { readList } from '@lcm/client/list-pages'
import { toInstant } from '@lcm/domain/instant'
import { useMemo } from 'preact/hooks'
import { Chart, type Series } from '../../../parts/chart.tsx'
import { useConsole } from '../../../parts/console-context.ts'
import { useRead } from '../../../parts/use-read.ts'
import { workerHash } from '../../../state/router.ts'
import { type MetricSeries, metricSeries, RANGE_MS, RANGES, type Range, REREAD_MS, rangeOf } from './metric-series.ts'

const shareText = (share: number): string => `${Math.round(share)} %`
const countText = (count: number): string => (Number.isInteger(count) ? String(count) : count.toFixed(1))

/** CPU, memory, disk and labs over time. The range is part of the address. */
export function LoadCard({ id }: { id: string }) {
  const { router, nowMs } = useConsole()
  const route = router.route.value
  const range = rangeOf('query' in route ? route.query.range : undefined)
  const metrics = useRead(
    `${id} ${range}`,
    (client, signal) => {
      const from = toInstant(nowMs.peek() - RANGE_MS[range])
      return readList(page => client.call('getWorkerMetrics', { params: { id }, query: { ...page, from }, signal }))
    },
    { everyMs: REREAD_MS[range] },
  )
  const lines = useMemo(() => (metrics.value === null ? null : metricSeries(metrics.value.items)), [metrics.value])
  const spanMs = useMemo((): readonly [number, number] => {
    const now = nowMs.peek()
    return [now - RANGE_MS[range], now]
  }, [range, nowMs, metrics.value])
  return (
    <section class="card" aria-labelledby="charts-title">
      <div class="card-head">
        <h2 id="charts-title">Load</h2>
        <RangeChips range={range} onChoose={next => router.replace(workerHash(id, { range: next }))} />
      </div>
      {metrics.error !== null && <p class="read-failed">Could not load the measurements: {metrics.error}</p>}
      {lines === null ? <ChartsSkeleton /> : <Charts lines={lines} spanMs={spanMs} />}
    </section>
  )
}

const RangeChips = ({ range, onChoose }: { range: Range; onChoose: (range: Range) => void }) => (
  <fieldset class="chips">
    <legend class="sr-only">Range</legend>
    {RANGES.map(each => (
      <button key={each} type="button" class="chip" aria-pressed={each === range} onClick={() => onChoose(each)}>
        {each}
      </button>
    ))}
  </fieldset>
)

const ChartsSkeleton = () => (
  <div class="charts" aria-busy="true">
    {[0, 1, 2, 3].map(place => (
      <span key={place} class="bone chart-bone" />
    ))}
  </div>
)

/** Top of a scale for counts: at least 4, so that its labels are whole numbers. */
const roundTop = (values: readonly (number | null)[]): number =>
  Math.ceil(Math.max(4, ...values.map(value => value ?? 0)) * 1.1)

interface Drawn {
  readonly title: string
  readonly series: readonly Series[]
  readonly text: (value: number) => string
  readonly max?: number
}

const share = (label: string, tone: Series['tone'], values: Series['values']): Drawn => ({
  title: label,
  series: [{ label, tone, values }],
  text: shareText,
  max: 100,
})

function Charts({ lines, spanMs }: { lines: MetricSeries; spanMs: readonly [number, number] }) {
  const drawn = useMemo(
    (): readonly Drawn[] => [
      share('CPU', 'blue', lines.cpu),
      share('Memory', 'violet', lines.memory),
      share('Disk', 'gray', lines.disk),
      {
        title: 'Labs and nodes',
        series: [
          { label: 'Labs', tone: 'green', values: lines.labs },
          { label: 'Nodes', tone: 'orange', values: lines.nodes },
        ],
        text: countText,
        max: roundTop([...lines.labs, ...lines.nodes]),
      },
    ],
    [lines],
  )
  return (
    <div class="charts">
      {drawn.map(chart => (
        <Chart key={chart.title} atMs={lines.atMs} spanMs={spanMs} {...chart} />
      ))}
    </div>
  )
}
