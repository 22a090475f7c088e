import type { WorkerView } from '@lcm/contract/worker-bodies'
import { countText } from '@lcm/domain/text/amounts'
import { useConsole } from '../../../parts/console-context.ts'
import { ConfirmDialog } from '../../../parts/dialog/confirm-dialog.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { Timestamp } from '../../../parts/timestamp.tsx'
import { sessionHash } from '../../../state/router.ts'
import { Owner } from '../../session/owner.tsx'
import { sessionsOf } from '../list/worker-sort.ts'
import { DrainDialog } from './drain-dialog.tsx'
import { requestWorkerAction } from './request-worker.ts'
import { WorkerDialog } from './worker-dialog.tsx'

const LOSSES = {
  stop: 'Labs stop in the middle of their work. The disk stays.',
  terminate: "Labs are destroyed with the machine and its disk. This can't be undone.",
} as const

/** A worker with sessions refuses to stop: this says what would be lost, and available the way that loses nothing. */
export const ForceDialog = ({ id, action }: { id: string; action: 'stop' | 'terminate' }) => (
  <WorkerDialog id={id}>{worker => <ForceForm worker={worker} action={action} />}</WorkerDialog>
)

function ForceForm({ worker, action }: { worker: WorkerView; action: 'stop' | 'terminate' }) {
  const { requests, dialog } = useConsole()
  const drain = () => {
    dialog.value = <DrainDialog id={worker.id} />
  }
  return (
    <ConfirmDialog
      title={`${worker.name} has ${countText(sessionsOf(worker), 'session')}`}
      verb={action === 'stop' ? 'Force stop' : 'Force terminate'}
      typed={worker.name}
      onConfirm={() => requestWorkerAction(requests, worker, action, { force: true })}
    >
      <p>
        All that lives on it ends at once if you {action} it by force. {LOSSES[action]}
      </p>
      <LostSessions worker={worker} />
      <p>
        To let sessions end by themselves,{' '}
        <button type="button" class="button small" onClick={drain}>
          Drain instead…
        </button>
      </p>
    </ConfirmDialog>
  )
}

/** What is not in the live list, because it may not be seen, is told by its id. */
function LostSessions({ worker }: { worker: WorkerView }) {
  const { state } = useConsole()
  return (
    <ul class="losses">
      {Object.keys(worker.reservations).map(id => {
        const session = state.live.session.get(id)
        if (!session) return <li key={id}>{id}</li>
        return (
          <li key={id}>
            <a href={sessionHash(id)}>{session.definition.name}</a>
            <StatusBadge status={session.status} />
            <span class="muted">
              <Owner session={session} />, until <Timestamp at={session.timeslot.end} />
            </span>
          </li>
        )
      })}
    </ul>
  )
}
