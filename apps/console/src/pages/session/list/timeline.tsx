import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { countText } from '@lcm/domain/text/format-amounts'
import { useComputed } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { useConsole } from '../../../parts/console-context.ts'
import { NamedIcon } from '../../../parts/icons.tsx'
import { useFilterChange } from '../../../parts/list/use-filter-change.ts'
import { dayAndMinuteText, exactText, minuteText, weekdayText } from '../../../state/time-format.ts'
import { filterOf, isFiltering, type SessionFilter, sessionsHash } from './session-filter.ts'
import { RANGE_NAMES, type Range, type Span, shareOf, spanOf, ticksOf, timelineRows } from './timeline-layout.ts'
import { orderedRows } from './timeline-order.ts'
import { TimelineRowView } from './timeline-row.tsx'

const MINUTE_MS = 60_000

interface TimelineProps {
  readonly sessions: readonly LabletSession[]
  readonly filter: SessionFilter
}

/** Sessions by worker and time. Each bar is a link with a full label: position and color alone carry no meaning. */
export function Timeline({ sessions, filter }: TimelineProps) {
  const { state, nowMs } = useConsole()
  const minuteMs = useComputed(() => Math.floor(nowMs.value / MINUTE_MS) * MINUTE_MS)
  const span = spanOf(filter.range, filter.atMs, minuteMs.value)
  const rows = timelineRows(sessions, span)
  const { shown, more } = orderedRows(rows, state.live.worker.all(), isFiltering(filter))
  return (
    <div class="timeline">
      <TimelineHead filter={filter} span={span} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the focus to scroll it. */}
      <section class="timeline-box" aria-label="Sessions by worker and time" tabIndex={0}>
        <div class="timeline-sheet">
          <Axis span={span} range={filter.range} />
          <ol class="timeline-rows">
            {shown.map(row => (
              <TimelineRowView key={row.workerId ?? ''} row={row} span={span} />
            ))}
          </ol>
          <NowLine span={span} />
        </div>
      </section>
      {more > 0 && (
        <p class="timeline-more muted">and {countText(more, 'more worker')} without sessions in this range</p>
      )}
    </div>
  )
}

function TimelineHead({ filter, span }: { filter: SessionFilter; span: Span }) {
  const change = useFilterChange(filterOf, sessionsHash)
  const lengthMs = span.toMs - span.fromMs
  const paged = (atMs: number | null) => sessionsHash({ ...filter, atMs })
  return (
    <header class="timeline-head">
      <h2 id="timeline-title">Timeline</h2>
      <span class="muted number timeline-span">
        {dayAndMinuteText(span.fromMs)} – {dayAndMinuteText(span.toMs)}
      </span>
      <button
        type="button"
        class="button small skip-timeline"
        onClick={() => document.getElementById('table-title')?.focus()}
      >
        Skip to the table
      </button>
      <fieldset class="chips">
        <legend class="sr-only">Range</legend>
        {RANGE_NAMES.map(range => (
          <button
            key={range}
            type="button"
            class="chip"
            aria-pressed={filter.range === range}
            onClick={() => change({ range })}
          >
            {range}
          </button>
        ))}
      </fieldset>
      <nav class="pager" aria-label="Time">
        <a class="button small earlier" href={paged(span.fromMs - lengthMs)} title="Earlier">
          <NamedIcon name="arrow" />
          <span class="sr-only">Earlier</span>
        </a>
        <a class="button small" href={paged(null)} aria-current={filter.atMs === null ? 'true' : undefined}>
          Now
        </a>
        <a class="button small" href={paged(span.fromMs + lengthMs)} title="Later">
          <NamedIcon name="arrow" />
          <span class="sr-only">Later</span>
        </a>
      </nav>
    </header>
  )
}

/** Midnight is labeled with the day. */
const tickText = (ms: number): string => (new Date(ms).getHours() === 0 ? weekdayText : minuteText)(ms)

function Axis({ span, range }: { span: Span; range: Range }) {
  return useMemo(
    () => (
      <>
        <div class="timeline-axis" aria-hidden="true">
          <div>
            {ticksOf(span, range).map(ms => (
              <span key={ms} class="number" style={{ left: `${100 * shareOf(ms, span)}%` }}>
                {tickText(ms)}
              </span>
            ))}
          </div>
        </div>
        <div class="timeline-lines" aria-hidden="true">
          {ticksOf(span, range).map(ms => (
            <span key={ms} style={{ left: `${100 * shareOf(ms, span)}%` }} />
          ))}
        </div>
      </>
    ),
    [span.fromMs, range],
  )
}

function NowLine({ span }: { span: Span }) {
  const { nowMs } = useConsole()
  const share = shareOf(nowMs.value, span)
  if (share < 0 || share > 1) return null
  return (
    <div class="timeline-lines" aria-hidden="true">
      <span class="now-line" style={{ left: `${100 * share}%` }} title={exactText(nowMs.value)} />
    </div>
  )
}
