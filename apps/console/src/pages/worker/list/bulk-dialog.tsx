import { countText } from '@lcm/domain/text/format-amounts'
import type { Worker } from '@lcm/domain/worker/worker'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useConsole } from '../../../parts/console-context.ts'
import { CapacityLoss } from '../../../parts/dialog/capacity-loss.tsx'
import { TextField } from '../../../parts/dialog/fields.tsx'
import { Modal } from '../../../parts/dialog/modal.tsx'
import { useOwnDialog } from '../../../parts/dialog/use-own-dialog.ts'
import { StatusIcon } from '../../../parts/icons.tsx'
import { failureText } from '../../../state/failure-text.ts'
import { workerHash } from '../../../state/router.ts'
import { type AfterDrain, AfterDrainField } from '../actions/drain-dialog.tsx'
import { requestWorkerAction } from '../actions/worker-requests.ts'
import { type BulkAction, type BulkOutcome, type BulkPlan, bulkPlan, runBulk } from './bulk-action.ts'

interface BulkProps {
  readonly workers: readonly Worker[]
  readonly action: BulkAction
  readonly onDone: () => void
}

interface Outcomes {
  readonly known: ReadonlyMap<string, BulkOutcome>
  readonly count: number
}

/** Result lines shown at most. */
const LINES_MAX = 500

const TITLES: Readonly<Record<BulkAction, string>> = {
  start: 'Start',
  stop: 'Stop',
  drain: 'Drain',
  terminate: 'Terminate',
}
const MEANINGS: Readonly<Record<BulkAction, string>> = {
  start: 'Running workers cost money.',
  stop: 'Disks and labs are kept. Workers with sessions refuse: drain them instead.',
  drain: 'No new sessions are placed on them. Existing sessions may end first.',
  terminate: "Their machines, disks and labs are deleted. This can't be undone.",
}

/** Shows the affected workers, sends the requests, and lists the result for each worker. */
export function BulkDialog({ workers, action, onDone }: BulkProps) {
  const { requests } = useConsole()
  const { close } = useOwnDialog()
  const plan = useSignal(bulkPlan(workers, action)).value
  const next = useSignal<AfterDrain>('STOPPED')
  const outcomes = useSignal<Outcomes | null>(null)
  const ask = async (worker: Worker): Promise<BulkOutcome> => {
    let refused = ''
    const keep = (refusal: unknown) => {
      refused = failureText(refusal)
      return true
    }
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    const isTaken = await requestWorkerAction(requests, worker, action, { then: next.value, onRefused: keep })
    return isTaken ? 'accepted' : { refused }
  }
  const run = async () => {
    const known = new Map<string, BulkOutcome>()
    outcomes.value = { known, count: 0 }
    await runBulk(plan.targets, ask, ({ id }, outcome) => {
      known.set(id, outcome)
      outcomes.value = { known, count: known.size }
    })
    onDone()
  }
  return (
    <Modal title={`${TITLES[action]} ${countText(plan.targets.length, 'worker')}`}>
      {outcomes.value === null ? (
        <BulkForm
          plan={plan}
          action={action}
          isIrreversible={action === 'terminate' || next.value === 'TERMINATED'}
          onRun={run}
          onCancel={close}
        >
          {action === 'drain' && <AfterDrainField chosen={next} isProtected={false} />}
          <BulkLoss plan={plan} action={action} isTerminated={action === 'terminate' || next.value === 'TERMINATED'} />
        </BulkForm>
      ) : (
        <BulkResults plan={plan} outcomes={outcomes.value} onClose={close} />
      )}
    </Modal>
  )
}

interface BulkFormProps {
  readonly plan: BulkPlan
  readonly action: BulkAction
  /** Actions that can't be undone: the user must type the number of workers. */
  readonly isIrreversible: boolean
  readonly onRun: () => void
  readonly onCancel: () => void
  readonly children: ComponentChildren
}

function BulkForm({ plan, action, isIrreversible, onRun, onCancel, children }: BulkFormProps) {
  const given = useSignal('')
  const count = plan.targets.length
  const isReady = count > 0 && (!isIrreversible || given.value.trim() === String(count))
  return (
    <form
      class="modal-body"
      onSubmit={event => {
        event.preventDefault()
        if (isReady) onRun()
      }}
    >
      <p>{MEANINGS[action]}</p>
      {children}
      <Skipped plan={plan} />
      {isIrreversible && count > 0 && (
        <TextField
          label={
            <>
              Type <code>{count}</code>, the number of workers, to confirm
            </>
          }
          value={given}
          inputmode="numeric"
        />
      )}
      <footer class="modal-foot">
        <button type="button" class="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" class={`button ${isIrreversible ? 'danger solid' : 'primary'}`} disabled={!isReady}>
          {TITLES[action]} {countText(count, 'worker')}
        </button>
      </footer>
    </form>
  )
}

/** Booked sessions that rely on the workers. */
function BulkLoss({ plan, action, isTerminated }: { plan: BulkPlan; action: BulkAction; isTerminated: boolean }) {
  const ids = plan.targets.map(({ id }) => id)
  if (action === 'start' || ids.length === 0) return null
  return <CapacityLoss change={isTerminated ? { terminated_workers: ids } : { closed_workers: ids }} />
}

const Skipped = ({ plan: { skipped } }: { plan: BulkPlan }) =>
  skipped.length === 0 ? null : (
    <details open={skipped.length < 6}>
      <summary>{countText(skipped.length, 'worker')} skipped</summary>
      <ul class="bulk-list">
        {skipped.map(({ worker, because }) => (
          <li key={worker.id}>
            <strong>{worker.name}</strong>
            <span class="muted">{because}</span>
          </li>
        ))}
      </ul>
    </details>
  )

/** Refusals first, because they need attention. */
function BulkResults({ plan, outcomes, onClose }: { plan: BulkPlan; outcomes: Outcomes; onClose: () => void }) {
  const isRefused = ({ id }: Worker) => typeof outcomes.known.get(id) === 'object'
  const refused = plan.targets.filter(isRefused)
  const lines = [...refused, ...plan.targets.filter(worker => !isRefused(worker))]
  return (
    <div class="modal-body">
      <p aria-live="polite">
        {outcomes.count < plan.targets.length && `${outcomes.count} of ${plan.targets.length} requests sent. `}
        {countText(outcomes.count - refused.length, 'worker')} accepted, {refused.length} refused.
      </p>
      <ul class="bulk-list">
        {lines.slice(0, LINES_MAX).map(worker => (
          <BulkResult key={worker.id} worker={worker} outcome={outcomes.known.get(worker.id)} />
        ))}
      </ul>
      {lines.length > LINES_MAX && <p class="muted">and {lines.length - LINES_MAX} more</p>}
      <footer class="modal-foot">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </footer>
    </div>
  )
}

function BulkResult({ worker, outcome }: { worker: Worker; outcome: BulkOutcome | undefined }) {
  const isRefused = typeof outcome === 'object'
  return (
    <li>
      <span class={`bulk-mark tone-${isRefused ? 'red' : outcome === undefined ? 'gray' : 'green'}`}>
        <StatusIcon status={isRefused ? 'FAILED' : outcome === undefined ? 'PENDING' : 'RUNNING'} />
      </span>
      <a href={workerHash(worker.id)}>{worker.name}</a>
      <span class="muted">
        {isRefused ? `refused: ${outcome.refused}` : outcome === undefined ? 'waiting' : 'accepted'}
      </span>
    </li>
  )
}
