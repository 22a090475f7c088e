import { withHealth } from '@lcm/domain/health'
import { toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { toneOf } from '@lcm/domain/text/status-tone'
import { useEffect, useRef } from 'preact/hooks'
import { useConsole } from '../../parts/console-context.ts'
import { StatusIcon } from '../../parts/icons.tsx'
import { shownStatus } from '../../parts/status/status-badge.tsx'
import { StatusCounts } from '../../parts/status/status-counts.tsx'
import { canSeeAllSessions } from '../../state/permission.ts'
import { pageHash, sessionHash } from '../../state/router.ts'
import { minuteText } from '../../state/time-format.ts'
import { ownerText } from '../session/session-text.ts'
import { type Bar, type Day, dayOf, hoursOf, placeOf, todayOf } from './today-sessions-layout.ts'

const LANE_PX = 28

export function TodayCard({ sessions, nowMs }: { sessions: readonly LabletSession[]; nowMs: number }) {
  const seesAll = canSeeAllSessions(useConsole().state.info.value)
  const day = dayOf(nowMs)
  const { bars, laneCount, counts } = todayOf(sessions, day)
  const isEmpty = bars.length === 0
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    // Scrolls to the current time when the day doesn't fit.
    const shown = box.current
    if (shown !== null && !isEmpty) shown.scrollLeft = placeOf(nowMs, day) * shown.scrollWidth - shown.clientWidth / 2
  }, [isEmpty])
  return (
    <section class="card today" aria-labelledby="today-title">
      <header class="today-head">
        <h2 id="today-title">{seesAll ? 'Sessions today' : 'Your sessions today'}</h2>
        <StatusCounts class="today-counts" page="sessions" counts={counts} />
        <a class="today-all" href={pageHash('sessions')}>
          All sessions
        </a>
      </header>
      {isEmpty ? (
        <p class="muted">{seesAll ? 'No sessions are booked for today.' : 'You have no sessions today.'}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the focus to scroll it.
        <section ref={box} class="today-scroll" tabIndex={0} aria-label="Timeline of today">
          <Timeline bars={bars} laneCount={laneCount} day={day} nowMs={nowMs} />
        </section>
      )}
    </section>
  )
}

interface TimelineProps {
  readonly bars: readonly Bar[]
  readonly laneCount: number
  readonly day: Day
  readonly nowMs: number
}

const Timeline = ({ bars, laneCount, day, nowMs }: TimelineProps) => (
  <div class="today-line">
    <div class="today-field">
      <div class="today-hours number" aria-hidden="true">
        {hoursOf(day).map(({ hour, place }) => (
          <span key={hour} style={{ left: percent(place) }}>
            {String(hour).padStart(2, '0')}
          </span>
        ))}
      </div>
      <div class="today-lines" aria-hidden="true">
        {hoursOf(day).map(({ hour, place }) => (
          <span key={hour} style={{ left: percent(place) }} />
        ))}
      </div>
      <ul class="today-lanes" style={{ height: `${laneCount * LANE_PX}px` }}>
        {bars.map(bar => (
          <TimelineBar key={bar.session.id} bar={bar} />
        ))}
      </ul>
      <span class="today-now" aria-hidden="true" style={{ left: percent(placeOf(nowMs, day)) }} />
    </div>
  </div>
)

const percent = (share: number): string => `${share * 100}%`

function TimelineBar({ bar: { session, lane, left, width, labelSide, labelSpace } }: { bar: Bar }) {
  const { state } = useConsole()
  const { status, health, definition, timeslot } = session
  const info = state.info.value
  const owner = ownerText(session, info?.actor)
  const shown = shownStatus(status, health)
  // Screen readers expect the visible text in the label.
  const visible = canSeeAllSessions(info) ? `${owner} ${definition.name}` : definition.name
  const text = `${visible}, ${withHealth(status, health.status)}, ${slotText(timeslot)}`
  return (
    <li
      style={{
        left: percent(left),
        width: percent(width),
        top: `${lane * LANE_PX}px`,
        '--label-space': labelSpace,
      }}
    >
      <a
        class={`today-bar tone-${toneOf(shown)} label-${labelSide}`}
        href={sessionHash(session.id)}
        title={text}
        aria-label={text}
      >
        <StatusIcon status={shown} />
        <span class="bar-name">
          {canSeeAllSessions(info) && <strong>{owner} </strong>}
          {definition.name}
        </span>
      </a>
    </li>
  )
}

const slotText = ({ start, end }: LabletSession['timeslot']): string =>
  `${minuteText(toMs(start))} to ${minuteText(toMs(end))}`
