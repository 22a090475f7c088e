import type { WorkerView } from '@lcm/contract/worker'
import { toMs } from '@lcm/domain/instant'
import { priceText } from '@lcm/domain/text/format-amounts'
import type { Signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Age } from '../../../parts/age.tsx'
import { useConsole } from '../../../parts/console-context.ts'
import { NamedIcon } from '../../../parts/icons.tsx'
import { Sparkline } from '../../../parts/sparkline.tsx'
import { WorkerBadge } from '../../../parts/status/status-badge.tsx'
import { WorkerCost } from '../../../parts/worker-cost.tsx'
import { isBooting } from '../../../state/boot-stages.ts'
import { isSpending } from '../../../state/fleet-summary.ts'
import { workerHash } from '../../../state/router.ts'
import { statusNote } from '../../../state/worker-status.ts'
import { RowActions } from '../actions/action-buttons.tsx'
import { BootProgress } from './boot-progress.tsx'
import type { Selection } from './selection.ts'
import { cpuOf, memoryOf, sessionsOf } from './worker-sort.ts'

const FRESH_MS = 3_000

/** A row element may be reused for another worker: a key press must not affect that one. */
function blurWithin(row: HTMLElement | null): void {
  const focused = document.activeElement
  if (focused instanceof HTMLElement && row?.contains(focused)) focused.blur()
}

interface RowProps {
  readonly worker: WorkerView
  readonly rowIndex: number
  readonly selection: Signal<Selection> | null
  readonly onTick: (id: string, isRange: boolean) => void
}

/** Re-renders only when its props or the signals it reads change. */
export function WorkerRow({ worker, rowIndex, selection, onTick }: RowProps) {
  const { nowMs } = useConsole()
  const isTicked = selection?.value.has(worker.id) ?? false
  const row = useRef<HTMLTableRowElement>(null)
  useLayoutEffect(() => () => blurWithin(row.current), [worker.id])
  const isFresh = nowMs.peek() - toMs(worker.entered_status_at) < FRESH_MS
  return (
    <tr
      ref={row}
      class={`worker-row ${isFresh ? 'fresh' : ''} ${isTicked ? 'ticked' : ''}`}
      aria-rowindex={rowIndex}
      data-status={worker.status}
      data-health={worker.health.status}
    >
      <td class="col-tick">
        {selection && (
          <label class="tick">
            <input
              type="checkbox"
              aria-label={`Select ${worker.name}`}
              checked={isTicked}
              onClick={event => onTick(worker.id, event.shiftKey)}
            />
          </label>
        )}
      </td>
      <th scope="row" class="col-name">
        <a href={workerHash(worker.id)}>{worker.name}</a>
        <Marks worker={worker} />
        <span class="sub mono">{worker.id}</span>
      </th>
      <td class="col-status">
        <WorkerBadge worker={worker} />
      </td>
      <td class="col-stage">
        {isBooting(worker) && worker.health.status === 'OK' ? (
          <BootProgress worker={worker} />
        ) : (
          <Note worker={worker} />
        )}
      </td>
      <td class="col-region">{worker.aws_region}</td>
      <td class="col-type">
        {worker.instance_type ?? <span class="muted">none yet</span>}
        <span class="sub">{worker.template_name}</span>
      </td>
      <UsageCells worker={worker} />
      <td class="col-labs number">{worker.labs_count ?? <Unknown />}</td>
      <td class="col-sessions number" data-noun={sessionsOf(worker) === 1 ? 'session' : 'sessions'}>
        {sessionsOf(worker)}
      </td>
      <td class="col-idle">
        {worker.activity.idle_since === null ? <Unknown /> : <Age since={worker.activity.idle_since} />}
      </td>
      <td class={`col-cost number ${isSpending(worker) ? '' : 'muted'}`}>
        {priceText(worker.cost_per_hour_usd)}
        <span class="sub">
          <WorkerCost worker={worker} />
        </span>
      </td>
      <td class="col-actions">
        <RowActions worker={worker} />
      </td>
    </tr>
  )
}

function UsageCells({ worker }: { worker: WorkerView }) {
  const { state } = useConsole()
  const usage = state.samples.of(worker.id)
  return (
    <>
      <UsageCell name="CPU" column="cpu" value={cpuOf(worker, usage)} values={usage.cpu} />
      <UsageCell name="Memory" column="memory" value={memoryOf(worker, usage)} values={usage.memory} />
    </>
  )
}

interface UsageProps {
  readonly name: string
  readonly column: string
  readonly value: number | null
  readonly values: readonly (number | null)[]
}

const Unknown = () => <span class="muted">–</span>

/** A sparkline needs two values: a single one is shown as a bar. */
const UsageCell = ({ name, column, value, values }: UsageProps) => (
  <td class={`col-${column}`}>
    {value === null ? (
      <Unknown />
    ) : (
      <span class="usage">
        <span class="number">{`${Math.round(value)} %`}</span>
        {values.length > 1 ? (
          <Sparkline values={values} max={100} label={`${name} over the last ${values.length} measurements`} />
        ) : (
          <span class="level" aria-hidden="true">
            <span style={{ width: `${value}%` }} />
          </span>
        )}
      </span>
    )}
  </td>
)

/** Reasons of bad health get both lines. */
function Note({ worker }: { worker: WorkerView }) {
  const text = statusNote(worker)
  const { status, since } = worker.health
  return (
    <>
      <span class={`note ${status === 'OK' ? '' : 'wrong'}`} title={text}>
        {text}
        {status !== 'OK' && since !== null && (
          <>
            , for <Age since={since} />
          </>
        )}
      </span>
      {status === 'OK' && (
        <span class="sub">
          for <Age since={worker.entered_status_at} />
        </span>
      )}
    </>
  )
}

/** Marks for protected and cordoned workers. */
const Marks = ({ worker }: { worker: WorkerView }) => (
  <>
    {worker.protected && (
      <span class="mark" title="Protected">
        <NamedIcon name="lock" />
        <span class="sr-only">protected</span>
      </span>
    )}
    {worker.cordoned && <span class="mark word">cordoned</span>}
  </>
)
