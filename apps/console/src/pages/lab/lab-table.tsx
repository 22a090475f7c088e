import { withHealth } from '@lcm/domain/health'
import { toMs } from '@lcm/domain/instant'
import { unconfirmedSince } from '@lcm/domain/lab/lab-age'
import { changedAt, type LabAction, type LabRecord } from '@lcm/domain/lab/lab-record'
import { countText } from '@lcm/domain/text/format-amounts'
import { useComputed } from '@preact/signals'
import { Age } from '../../parts/age.tsx'
import { useConsole } from '../../parts/console-context.ts'
import { ConfirmDialog } from '../../parts/dialog/confirm-dialog.tsx'
import { NamedIcon } from '../../parts/icons.tsx'
import { StatusBadge } from '../../parts/status/status-badge.tsx'
import { WindowedTable } from '../../parts/table/windowed-table.tsx'
import { isAllowed } from '../../state/permission.ts'
import { sessionHash, workerHash } from '../../state/router.ts'
import { exactText } from '../../state/time-format.ts'
import {
  ACTION_TEXTS,
  type AvailableAction,
  availableActions,
  needsConfirmation,
  nodesText,
  requestLabAction,
  typedName,
} from './lab-actions.ts'

const COLUMNS = ['Lab', 'Status', 'Worker', 'Session', 'Nodes', 'Ports', 'Changed', 'Actions'] as const

export const LabTable = ({ labs }: { labs: readonly LabRecord[] }) => (
  <WindowedTable
    class="table labs"
    columns={COLUMNS}
    items={labs}
    row={(lab, rowIndex) => <LabRow key={lab.id} lab={lab} rowIndex={rowIndex} />}
  />
)

function LabRow({ lab, rowIndex }: { lab: LabRecord; rowIndex: number }) {
  const ports = Object.entries(lab.ports)
  return (
    <tr class="lab-row" aria-rowindex={rowIndex}>
      <th scope="row" class="col-lab">
        <span class="lab-title" title={lab.title}>
          {lab.title || <span class="muted">without a title</span>}
        </span>
        <span class="sub">
          {lab.source === 'IMPORT' ? 'imported by LCM' : 'found on CML'}
          {lab.owner !== null && `, owner ${lab.owner}`}
        </span>
      </th>
      <td class="col-status">
        <StatusBadge status={lab.status} />
        <LastSeen lab={lab} />
        <Pending lab={lab} />
      </td>
      <td class="col-worker">
        <WorkerLink id={lab.worker_id} />
      </td>
      <td class="col-session">
        <SessionLink id={lab.session_id} />
      </td>
      <td class="col-nodes">
        <span class="number">{countText(lab.node_count, 'node')}</span>
        <span class="sub" title={nodesText(lab) ?? undefined}>
          {nodesText(lab) ?? lab.raw_state}
        </span>
      </td>
      <td class="col-ports number" title={ports.map(([name, port]) => `${name} ${port}`).join(', ')}>
        {ports.length === 0 ? <span class="muted">none</span> : ports.map(([, port]) => port).join(', ')}
      </td>
      <td class="col-changed muted" title={`last seen on its worker ${exactText(toMs(lab.last_seen_at))}`}>
        <Age since={changedAt(lab)} /> ago
      </td>
      <td class="col-actions">
        <LabActions lab={lab} />
      </td>
    </tr>
  )
}

const MINUTE_MS = 60_000

/** Says how old the status is when no scan confirms it. */
function LastSeen({ lab }: { lab: LabRecord }) {
  const { state, nowMs } = useConsole()
  const worker = state.live.worker.get(lab.worker_id) ?? null
  // Rounded: a row must not render every second.
  const minuteMs = useComputed(() => Math.ceil(nowMs.value / MINUTE_MS) * MINUTE_MS)
  const since = unconfirmedSince(lab, worker, minuteMs.value)
  if (since === null) return null
  return (
    <span class="sub last-seen">
      last seen <Age since={since} /> ago
    </span>
  )
}

/** Action in progress, or its error. */
function Pending({ lab: { pending_action, last_error } }: { lab: LabRecord }) {
  const error = pending_action?.error ?? last_error
  if (pending_action === null && error === null) return null
  return (
    <span class={`sub pending ${error === null ? '' : 'tone-red'}`} title={error ?? undefined}>
      {pending_action !== null && (
        <>
          <NamedIcon name={error === null ? 'waiting' : 'close'} /> {pending_action.action} requested by{' '}
          {pending_action.by}
          {error !== null && ': '}
        </>
      )}
      {error}
    </span>
  )
}

function WorkerLink({ id }: { id: string }) {
  const { state } = useConsole()
  return <a href={workerHash(id)}>{state.live.worker.get(id)?.name ?? id}</a>
}

function SessionLink({ id }: { id: string | null }) {
  const { state } = useConsole()
  if (id === null) return <span class="muted">none</span>
  const session = state.live.session.get(id)
  return (
    <>
      <a href={sessionHash(id)}>{session?.definition.name ?? id}</a>
      <span class="sub">{session === undefined ? 'ended' : withHealth(session.status, session.health.status)}</span>
    </>
  )
}

function LabActions({ lab }: { lab: LabRecord }) {
  const { state } = useConsole()
  if (!isAllowed(state.info.value, 'stopLab')) return null
  const session = lab.session_id === null ? undefined : state.live.session.get(lab.session_id)
  return (
    <span class="actions">
      {availableActions(lab, session).map(item => (
        <ActionButton key={item.action} lab={lab} item={item} />
      ))}
    </span>
  )
}

/** Uses `aria-disabled`: a `disabled` button would lose the keyboard focus. */
function ActionButton({ lab, item: { action, disabledReason } }: { lab: LabRecord; item: AvailableAction }) {
  const { requests, dialog } = useConsole()
  const { label, help } = ACTION_TEXTS[action]
  const pending = requests.pendingVerbOf(lab.id)
  const isDisabled = disabledReason !== null || pending !== null
  const begin = () => {
    if (needsConfirmation(lab, action)) dialog.value = <LabDialog lab={lab} action={action} />
    else requestLabAction(requests, lab, action)
  }
  return (
    <button
      type="button"
      class={`button small ${action === 'delete' || action === 'wipe' ? 'danger' : ''} ${pending === action ? 'requested' : ''}`}
      aria-disabled={isDisabled}
      title={disabledReason ?? help}
      onClick={() => !isDisabled && begin()}
    >
      {pending === action ? 'Requested…' : label}
      <span class="sr-only"> {lab.title || lab.id}</span>
    </button>
  )
}

const EFFECTS: Readonly<Record<LabAction, string>> = {
  start: 'Starts all nodes.',
  stop: 'Stops all nodes. Their data is kept.',
  wipe: 'Deletes the data of all nodes, including their configurations.',
  delete: 'Stops and wipes all nodes and removes the lab from CML.',
}

function LabDialog({ lab, action }: { lab: LabRecord; action: LabAction }) {
  const { requests } = useConsole()
  const verb = ACTION_TEXTS[action].label.replace('…', '')
  return (
    <ConfirmDialog
      title={`${verb} ${lab.title || lab.id}?`}
      verb={verb}
      typed={typedName(lab)}
      onConfirm={() => requestLabAction(requests, lab, action)}
    >
      <p>
        {EFFECTS[action]} {action !== 'stop' && <strong>This can't be undone.</strong>}
      </p>
      {lab.source === 'DISCOVERY' && (
        <p class="muted">LCM did not create this lab{lab.owner !== null && `. Its owner is ${lab.owner}`}.</p>
      )}
    </ConfirmDialog>
  )
}
