import type { Forecast } from '@lcm/domain/forecast/forecast'
import type { AwakeTime, MachineMark, MachineUse } from '@lcm/domain/forecast/machine-use'
import { toMs } from '@lcm/domain/instant'
import { countText } from '@lcm/domain/text/format-amounts'
import { useSignal } from '@preact/signals'
import { workerHash } from '../../state/router.ts'
import { dayAndMinuteText, spanText, weekdayText } from '../../state/time-format.ts'
import { daysOf, shareAt, shownMachines, type Use, usesOf } from './forecast-charts.ts'

const DAY_MS = 86_400_000
/** A class of an hour can be seen and pointed at. */
const DAY_PX = 240
const SHOWN_AT_FIRST = 25

/** Machines by time: when each one runs, for which sessions, and when it is started and stopped. */
export function MachineTimeline({ forecast }: { forecast: Forecast }) {
  const shown = useSignal(SHOWN_AT_FIRST)
  const machines = shownMachines(forecast.machines)
  const days = (toMs(forecast.until) - toMs(forecast.at)) / DAY_MS
  return (
    <section class="timeline plan-timeline" aria-labelledby="plan-timeline-title">
      <header class="timeline-head">
        <h2 id="plan-timeline-title">Planned machines</h2>
        <Legend />
      </header>
      {machines.length === 0 && <p class="timeline-more muted">No machine will run.</p>}
      {machines.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the focus to scroll it.
        <section class="timeline-box" aria-label="Machines by time" tabIndex={0}>
          <div class="timeline-sheet" style={{ minWidth: `max(100%, ${Math.ceil(days * DAY_PX) + 180}px)` }}>
            <Axis forecast={forecast} />
            <ol class="timeline-rows">
              {machines.slice(0, shown.value).map(machine => (
                <MachineRow key={machine.key} machine={machine} forecast={forecast} />
              ))}
            </ol>
          </div>
        </section>
      )}
      {machines.length > shown.value && (
        <p class="timeline-more">
          <button
            type="button"
            class="button small"
            onClick={() => {
              shown.value = machines.length
            }}
          >
            Show all {machines.length} machines
          </button>
        </p>
      )}
    </section>
  )
}

const Legend = () => (
  <p class="muted plan-legend" aria-hidden="true">
    <span>
      <span class="plan-key awake" /> runs
    </span>
    <span>
      <span class="plan-key booting" /> boots
    </span>
    <span>
      <span class="plan-key used" /> sessions
    </span>
    <span>
      <span class="plan-mark wake">▲</span> started
    </span>
    <span>
      <span class="plan-mark stop">■</span> stopped
    </span>
  </p>
)

function Axis({ forecast }: { forecast: Forecast }) {
  const days = daysOf(forecast)
  const at = (ms: number) => ({ left: `${100 * shareAt(ms, forecast)}%` })
  return (
    <>
      <div class="timeline-axis" aria-hidden="true">
        <div>
          {days.map(ms => (
            <span key={ms} class="number" style={at(ms)}>
              {weekdayText(ms)}
            </span>
          ))}
        </div>
      </div>
      <div class="timeline-lines" aria-hidden="true">
        {days.map(ms => (
          <span key={ms} style={at(ms)} />
        ))}
      </div>
    </>
  )
}

interface RowProps {
  readonly machine: MachineUse
  readonly forecast: Forecast
}

function MachineRow({ machine, forecast }: RowProps) {
  const { name, worker_id, template_name, awake, marks } = machine
  const place = (fromMs: number, untilMs: number) => {
    const left = shareAt(fromMs, forecast)
    return { left: `${100 * left}%`, width: `${100 * (shareAt(untilMs, forecast) - left)}%` }
  }
  return (
    <li class="timeline-row">
      <span class="timeline-name">
        {worker_id === null ? <span title={template_name}>{name}</span> : <a href={workerHash(worker_id)}>{name}</a>}
      </span>
      <ul class="timeline-track plan-track" aria-label={name}>
        {awake.map(time => (
          <li key={time.fromMs} class="plan-awake" style={place(time.fromMs, time.untilMs)} title={awakeText(time)}>
            <span class="sr-only">{awakeText(time)}</span>
            <span class="plan-boot" aria-hidden="true" style={{ width: `${100 * bootShare(time)}%` }} />
          </li>
        ))}
        {usesOf(machine).map(use => (
          <li key={use.fromMs} class="plan-use tone-blue" style={place(use.fromMs, use.untilMs)} title={useText(use)}>
            <span aria-hidden="true">{use.sessions}</span>
            <span class="sr-only">{useText(use)}</span>
          </li>
        ))}
        {marks.map(mark => (
          <li
            key={`${mark.kind} ${mark.atMs}`}
            class={`plan-mark ${isStart(mark) ? 'wake' : 'stop'}`}
            style={{ left: `${100 * shareAt(mark.atMs, forecast)}%` }}
            title={markText(mark)}
          >
            <span aria-hidden="true">{isStart(mark) ? '▲' : '■'}</span>
            <span class="sr-only">{markText(mark)}</span>
          </li>
        ))}
      </ul>
    </li>
  )
}

const isStart = ({ kind }: MachineMark): boolean => kind === 'wake' || kind === 'buy'

const bootShare = ({ fromMs, servesMs, untilMs }: AwakeTime): number =>
  Math.min(1, Math.max(0, (servesMs - fromMs) / (untilMs - fromMs)))

const awakeText = ({ fromMs, untilMs }: AwakeTime): string => `runs ${spanText(fromMs, untilMs)}`

const useText = ({ fromMs, untilMs, sessions }: Use): string =>
  `${countText(sessions, 'session')}, ${spanText(fromMs, untilMs)}`

const MARK_TEXTS: Readonly<Record<MachineMark['kind'], string>> = {
  wake: 'started',
  buy: 'bought',
  stop: 'stopped',
  terminate: 'terminated',
}
const markText = ({ kind, atMs }: MachineMark): string => `${MARK_TEXTS[kind]} ${dayAndMinuteText(atMs)}`
