import { toMs } from '@lcm/domain/instant'
import { durationText } from '@lcm/domain/text/format-amounts'
import { toneOf } from '@lcm/domain/text/status-tone'
import type { StateChange, Worker } from '@lcm/domain/worker/worker'
import { useEffect, useRef } from 'preact/hooks'
import { useConsole } from '../../../parts/console-context.ts'
import { StatusIcon } from '../../../parts/icons.tsx'
import { StatusBadge } from '../../../parts/status/status-badge.tsx'
import { Timestamp } from '../../../parts/timestamp.tsx'
import { historyOf } from '../../../state/worker-status.ts'
import {
  BOX,
  DIAGRAM,
  type DrawnMove,
  type DrawnStatus,
  lifecycleOf,
  lifecycleText,
  stepsText,
} from './lifecycle-diagram-layout.ts'

/** Status history as a diagram and as a list with reasons. Both use the same step numbers. */
export function LifecycleCard({ worker }: { worker: Worker }) {
  const newestFirst = historyOf(worker)
  return (
    <section class="card" aria-labelledby="lifecycle-title">
      <h2 id="lifecycle-title">Lifecycle</h2>
      <Diagram worker={worker} history={newestFirst.toReversed()} />
      <History newestFirst={newestFirst} />
    </section>
  )
}

/** Scrolls to the current status when the diagram doesn't fit. */
function Diagram({ worker, history }: { worker: Worker; history: readonly StateChange[] }) {
  const { statuses, moves } = lifecycleOf(worker.status, history)
  const container = useRef<HTMLElement>(null)
  const nowX = statuses.find(({ state }) => state === 'now')?.x ?? 0
  useEffect(() => {
    const box = container.current
    if (box) box.scrollLeft = (nowX / DIAGRAM.width) * box.scrollWidth - box.clientWidth / 2
  }, [nowX])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the focus to scroll it.
    <section ref={container} class="lifecycle" tabIndex={0} aria-label="Lifecycle diagram">
      <svg
        viewBox={`0 0 ${DIAGRAM.width} ${DIAGRAM.height}`}
        role="img"
        aria-label={lifecycleText(worker.status, history)}
      >
        <defs>
          {['ahead', 'made', 'newest'].map(kind => (
            <marker
              key={kind}
              id={`tip-${kind}`}
              class={`tip ${kind}`}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="8"
              markerHeight="8"
              markerUnits="userSpaceOnUse"
              orient="auto"
            >
              <path d="M0 0.500 7.500 4 0 7.500Z" />
            </marker>
          ))}
        </defs>
        {moves.map(move => (
          <Line key={`${move.from} ${move.to}`} move={move} />
        ))}
        {statuses.map(status => (
          <Box key={status.status} drawn={status} />
        ))}
        {moves.map(move => (
          <StepNumber key={`${move.from} ${move.to}`} move={move} />
        ))}
      </svg>
    </section>
  )
}

const kindOf = ({ steps, isNewest }: DrawnMove) => (isNewest ? 'newest' : steps.length > 0 ? 'made' : 'ahead')

const Line = ({ move }: { move: DrawnMove }) => (
  <path class={`move ${kindOf(move)}`} d={move.path} marker-end={`url(#tip-${kindOf(move)})`} />
)

const NUMBER_CHAR_PX = 6.2

function StepNumber({ move }: { move: DrawnMove }) {
  if (move.steps.length === 0) return null
  const text = stepsText(move.steps)
  const width = Math.max(18, text.length * NUMBER_CHAR_PX + 10)
  return (
    <g class={`step-number ${kindOf(move)}`} transform={`translate(${move.middle.x} ${move.middle.y})`}>
      <rect x={-width / 2} y={-9} width={width} height={18} rx={9} />
      <text y={4}>{text}</text>
    </g>
  )
}

const Box = ({ drawn: { status, state, x, y } }: { drawn: DrawnStatus }) => (
  <g class={`box ${state} tone-${toneOf(status)}`} transform={`translate(${x - BOX.width / 2} ${y - BOX.height / 2})`}>
    <rect width={BOX.width} height={BOX.height} rx={8} />
    <svg x={11} y={10} width={14} height={14} aria-hidden="true">
      <StatusIcon status={status} />
    </svg>
    <text x={31} y={21.5}>
      {status}
    </text>
  </g>
)

function History({ newestFirst }: { newestFirst: readonly StateChange[] }) {
  const { nowMs } = useConsole()
  return (
    <ol class="history" aria-label="State history, newest first">
      {newestFirst.map((change, index) => {
        const next = newestFirst[index - 1]
        return (
          <li key={`${change.at} ${change.to}`}>
            <span class="number muted history-step">{newestFirst.length - index}</span>
            <StatusBadge status={change.to} />
            <span class="number history-for">
              {durationText((next ? toMs(next.at) : nowMs.value) - toMs(change.at))}
            </span>
            <span class="history-because" title={change.because.code}>
              {change.because.message}
            </span>
            <Timestamp class="muted" at={change.at} />
          </li>
        )
      })}
    </ol>
  )
}
