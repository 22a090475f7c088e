import { withHealth } from '@lcm/domain/health'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { countText } from '@lcm/domain/text/format-amounts'
import { toneOf } from '@lcm/domain/text/status-tone'
import { useMemo } from 'preact/hooks'
import { useConsole } from '../../../parts/console-context.ts'
import { StatusIcon } from '../../../parts/icons.tsx'
import { shownStatus } from '../../../parts/status/status-badge.tsx'
import { canSeeAllSessions } from '../../../state/permission.ts'
import { sessionHash, workerHash } from '../../../state/router.ts'
import { activityTextFor, ownerText, slotText } from '../session-text.ts'
import type { Bar, Span, TimelineRow } from './timeline-layout.ts'

const LANE_PX = 26

interface RowProps {
  readonly row: TimelineRow
  readonly span: Span
}

export function TimelineRowView({ row, span }: RowProps) {
  const { state } = useConsole()
  const { workerId, bars, lanes, hidden } = row
  const worker = workerId === null ? undefined : state.live.worker.get(workerId)
  const name = workerId === null ? 'Waiting' : (worker?.name ?? workerId)
  const status = worker && shownStatus(worker.status, worker.health)
  const signature = bars.map(({ session }) => `${session.id} ${session.version}`).join()
  // Memoized: with hundreds of rows, an unchanged row must not render.
  return useMemo(
    () => (
      <li class={`timeline-row ${workerId === null ? 'waiting' : ''}`}>
        <span class="timeline-name">
          {status && (
            <span class={`timeline-status tone-${toneOf(status)}`} title={status}>
              <StatusIcon status={status} />
              <span class="sr-only">{status} </span>
            </span>
          )}
          {workerId === null ? <strong>Waiting</strong> : <a href={workerHash(workerId)}>{name}</a>}
        </span>
        <ul
          class="timeline-track"
          aria-label={workerId === null ? 'Sessions without a worker' : `Sessions on ${name}`}
          style={{ height: `${(lanes + (hidden > 0 ? 1 : 0)) * LANE_PX + 6}px` }}
        >
          {bars.map(bar => (
            <BarView key={bar.session.id} bar={bar} workerName={workerId === null ? null : name} />
          ))}
          {hidden > 0 && (
            <li class="timeline-hidden muted" style={{ top: `${lanes * LANE_PX + 5}px` }}>
              and {countText(hidden, 'more session')} in the table below
            </li>
          )}
        </ul>
      </li>
    ),
    [signature, name, status, lanes, hidden, span.fromMs, span.toMs],
  )
}

function BarView({ bar, workerName }: { bar: Bar; workerName: string | null }) {
  const { state, nowMs } = useConsole()
  const { session, lane, left, width, labelSide, labelSpace } = bar
  const info = state.info.value
  const owner = ownerText(session, info?.actor)
  const shown = shownStatus(session.status, session.health)
  const visible = canSeeAllSessions(info) ? `${owner} ${session.definition.name}` : session.definition.name
  const activity = activityTextFor(info?.actor, session, nowMs.peek())
  const label = labelOf(session, { visible, workerName, activity })
  const cut = [bar.isCutLeft && 'cut-left', bar.isCutRight && 'cut-right'].filter(Boolean).join(' ')
  return (
    <li
      class="timeline-place"
      style={{
        top: `${lane * LANE_PX + 4}px`,
        left: `${100 * left}%`,
        width: `${100 * width}%`,
        '--label-space': labelSpace,
      }}
    >
      <a
        class={`bar tone-${toneOf(shown)} label-${labelSide} ${cut}`}
        href={sessionHash(session.id)}
        aria-label={label}
        title={label}
        data-status={session.status}
      >
        <StatusIcon status={shown} />
        <span class="bar-name">
          {canSeeAllSessions(info) && <strong>{owner} </strong>}
          {session.definition.name}
        </span>
      </a>
    </li>
  )
}

interface LabelParts {
  readonly visible: string
  readonly workerName: string | null
  readonly activity: string
}

/** Screen readers expect the visible text in the label. */
function labelOf(session: LabletSession, { visible, workerName, activity }: LabelParts): string {
  const { definition, status, health, timeslot } = session
  const location = workerName === null ? 'without a worker' : `on ${workerName}`
  const head = `${visible} ${definition.version}, ${withHealth(status, health.status)}, ${slotText(timeslot)}, ${location}`
  return activity === '' ? head : `${head}: ${activity}`
}
