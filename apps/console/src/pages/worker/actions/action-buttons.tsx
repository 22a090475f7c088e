import { isProblem } from '@lcm/client/client'
import type { Worker } from '@lcm/domain/worker/worker'
import type { VNode } from 'preact'
import { useConsole } from '../../../parts/console-context.ts'
import { capacityLossDialog } from '../../../parts/dialog/capacity-loss.tsx'
import { Menu } from '../../../parts/dialog/menu.tsx'
import { NamedIcon } from '../../../parts/icons.tsx'
import { failureText } from '../../../state/failure-text.ts'
import { isAllowed } from '../../../state/permission.ts'
import { ApproveDialog, RepinDialog } from './certificate-dialogs.tsx'
import { DrainDialog } from './drain-dialog.tsx'
import { EditDialog } from './edit-dialog.tsx'
import { ForceDialog } from './force-dialog.tsx'
import { RemoveDialog, TerminateDialog } from './terminate-and-remove-dialogs.tsx'
import { ACTION_TEXTS, type AvailableAction, availableActions, type WorkerAction } from './worker-actions.ts'
import { requestWorkerAction } from './worker-requests.ts'

const isDanger = (action: WorkerAction): boolean => action === 'terminate' || action === 'remove'

/** Rows show the main action; the menu has the others. */
export function RowActions({ worker }: { worker: Worker }) {
  const { state } = useConsole()
  if (!isAllowed(state.info.value, 'terminateWorker')) return null
  const [first, ...rest] = availableActions(worker)
  return (
    <span class="actions">
      {first && <ActionButton worker={worker} item={first} />}
      {rest.length > 0 && <MoreButton worker={worker} available={rest} />}
    </span>
  )
}

const PAGE_ACTIONS: readonly WorkerAction[] = [
  'approve',
  'start',
  'stop',
  'drain',
  'cancel-drain',
  'retry',
  'refresh',
  'terminate',
  'remove',
]

export function PageActions({ worker }: { worker: Worker }) {
  const { state } = useConsole()
  if (!isAllowed(state.info.value, 'terminateWorker')) return null
  const available = availableActions(worker)
  const rest = available.filter(({ action }) => !PAGE_ACTIONS.includes(action))
  return (
    <span class="actions">
      {available
        .filter(({ action }) => PAGE_ACTIONS.includes(action))
        .map(item => (
          <ActionButton key={item.action} worker={worker} item={item} />
        ))}
      {rest.length > 0 && <MoreButton worker={worker} available={rest} />}
    </span>
  )
}

/** Uses `aria-disabled`: a `disabled` button would lose the keyboard focus. */
function ActionButton({ worker, item: { action, disabledReason } }: { worker: Worker; item: AvailableAction }) {
  const { requests } = useConsole()
  const begin = useWorkerAction()
  const { label, verb, help } = ACTION_TEXTS[action]
  const pending = requests.pendingVerbOf(worker.id)
  const isDisabled = disabledReason !== null || pending !== null
  return (
    <button
      type="button"
      class={`button small ${isDanger(action) ? 'danger' : ''} ${pending === verb ? 'requested' : ''}`}
      aria-disabled={isDisabled}
      aria-label={`${pending === verb ? 'Requested:' : ''} ${label} ${worker.name}`.trim()}
      title={disabledReason ?? help}
      onClick={() => !isDisabled && begin(worker, action)}
    >
      {pending === verb ? 'Requested…' : label}
    </button>
  )
}

function MoreButton({ worker, available }: { worker: Worker; available: readonly AvailableAction[] }) {
  const { requests, dialog } = useConsole()
  const begin = useWorkerAction()
  const pending = requests.pendingVerbOf(worker.id)
  const isPending = available.some(({ action }) => ACTION_TEXTS[action].verb === pending)
  const open = (anchor: Element) => {
    const items = available.map(({ action, disabledReason }) => ({
      key: action,
      ...ACTION_TEXTS[action],
      isDanger: isDanger(action),
      disabledReason:
        disabledReason ?? (requests.pendingVerbOf(worker.id) === null ? null : 'Another request is in progress'),
      onPick: () => begin(worker, action),
    }))
    dialog.value = <Menu label={`Actions for ${worker.name}`} anchor={anchor} items={items} />
  }
  return (
    <button
      type="button"
      class="button small icon-only more"
      aria-haspopup="dialog"
      aria-label={`${isPending ? `Requested: ${pending}` : 'More actions for'} ${worker.name}`}
      title={isPending ? `Requested: ${pending}…` : 'More actions'}
      onClick={event => open(event.currentTarget)}
    >
      <NamedIcon name={isPending ? 'waiting' : 'more'} />
    </button>
  )
}

/** Starts an action: sends the request, or opens the dialog that it needs. */
export function useWorkerAction(): (worker: Worker, action: WorkerAction) => void {
  const { client, requests, dialog, notices } = useConsole()
  const show = (needed: VNode) => {
    dialog.value = needed
  }
  const offerForce = (id: string) => (refusal: unknown) => {
    if (!isProblem(refusal, 'worker_has_sessions')) return false
    show(<ForceDialog id={id} action="stop" />)
    return true
  }
  /** Lists the booked sessions that rely on the worker first. */
  const close = async (worker: Worker, action: 'stop' | 'cordon') => {
    const { id, name } = worker
    const { label, verb } = ACTION_TEXTS[action]
    const onConfirm = () => void requestWorkerAction(requests, worker, action, { onRefused: offerForce(id) })
    try {
      const asked = { title: `${label} ${name}?`, verb: `${label} anyway`, change: { closed_workers: [id] }, onConfirm }
      const question = await capacityLossDialog(client, asked)
      if (question === null) onConfirm()
      else show(question)
    } catch (error) {
      notices.show('refused', `Could not ${verb} ${name}`, failureText(error))
    }
  }
  return (worker, action) => {
    const { id } = worker
    switch (action) {
      case 'drain':
        return show(<DrainDialog id={id} />)
      case 'terminate':
        return show(<TerminateDialog id={id} />)
      case 'approve':
        return show(<ApproveDialog id={id} />)
      case 'repin':
        return show(<RepinDialog id={id} />)
      case 'edit':
        return show(<EditDialog id={id} />)
      case 'remove':
        return show(<RemoveDialog id={id} />)
      case 'stop':
      case 'cordon':
        return void close(worker, action)
      default:
        requestWorkerAction(requests, worker, action, { onRefused: offerForce(id) })
    }
  }
}
