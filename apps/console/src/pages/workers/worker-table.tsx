import { toMs } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import { workerHash } from '../router.ts'
import { usdText } from '../wording.ts'
import { isBooting, isSpending, noteOf } from '../worker-view.ts'
import { Age } from './age.tsx'
import { BootProgress } from './boot-progress.tsx'
import { NamedIcon } from './icons.tsx'
import { WorkerStatusBadge } from './status-badge.tsx'
import { useRowWindow } from './use-row-window.ts'
import { useConsole } from './wiring.ts'
import { WorkerActions } from './worker-actions.tsx'

const COLUMNS = ['Worker', 'Status', 'For', 'Doing', 'Machine', 'Cost', 'Actions'] as const

/** Only the rows near the viewport exist, so that ten thousand are as quick as ten. */
export function WorkerTable({ workers }: { workers: readonly Worker[] }) {
  const { table, first, end, rowPx } = useRowWindow(workers.length)
  return (
    <table ref={table} class="workers" aria-rowcount={workers.length + 1}>
      <thead>
        <tr>
          {COLUMNS.map(column => (
            <th key={column} scope="col" class={`col-${column.toLowerCase()}`}>
              {column === 'Actions' ? <span class="sr-only">{column}</span> : column}
            </th>
          ))}
        </tr>
      </thead>
      <Spacer heightPx={first * rowPx} />
      <tbody>
        {workers.slice(first, end).map((worker, index) => (
          <WorkerRow key={worker.id} worker={worker} rowIndex={first + index + 2} />
        ))}
      </tbody>
      <Spacer heightPx={(workers.length - end) * rowPx} />
    </table>
  )
}

/** Stands for the rows that are not there. It is always there itself, or the body would be made anew when it comes. */
const Spacer = ({ heightPx }: { heightPx: number }) => (
  <tbody class="spacer" aria-hidden="true">
    {heightPx > 0 && (
      <tr>
        <td colSpan={COLUMNS.length} style={{ height: `${heightPx}px` }} />
      </tr>
    )}
  </tbody>
)

const FRESH_MS = 3_000

function WorkerRow({ worker, rowIndex }: { worker: Worker; rowIndex: number }) {
  const { nowMs } = useConsole()
  const isFresh = nowMs.peek() - toMs(worker.entered_status_at) < FRESH_MS
  return (
    <tr class={`worker-row ${isFresh ? 'fresh' : ''}`} aria-rowindex={rowIndex} data-status={worker.status}>
      <th scope="row" class="col-worker">
        <a href={workerHash(worker.id)}>{worker.name}</a>
        {worker.protected && <Protected />}
        <span class="sub mono">{worker.id}</span>
      </th>
      <td class="col-status">
        <WorkerStatusBadge worker={worker} />
      </td>
      <td class="col-for">
        <Age since={worker.entered_status_at} />
      </td>
      <td class="col-doing">{isBooting(worker) ? <BootProgress worker={worker} /> : <Note text={noteOf(worker)} />}</td>
      <td class="col-machine">
        <span class="machine-type">{worker.instance_type ?? worker.template_name}</span>
        <span class="sub">{worker.aws_region}</span>
      </td>
      <td class={`col-cost number ${isSpending(worker) ? '' : 'muted'}`}>{usdText(worker.cost_per_hour_usd)}/h</td>
      <td class="col-actions">
        <WorkerActions worker={worker} />
      </td>
    </tr>
  )
}

const Note = ({ text }: { text: string }) => (
  <span class="note" title={text}>
    {text}
  </span>
)

const Protected = () => (
  <span class="protected" title="Protected">
    <NamedIcon name="lock" />
    <span class="sr-only">protected</span>
  </span>
)
