import type { WorkerView } from '@lcm/contract/worker'
import { countText } from '@lcm/domain/text/format-amounts'
import { useConsole } from '../../../parts/console-context.ts'
import { ConfirmDialog } from '../../../parts/dialog/confirm-dialog.tsx'
import { SessionBadge } from '../../../parts/status/status-badge.tsx'
import { Timestamp } from '../../../parts/timestamp.tsx'
import { sessionHash } from '../../../state/router.ts'
import { Owner } from '../../session/owner.tsx'
import { sessionsOf } from '../list/worker-sort.ts'
import { DrainDialog } from './drain-dialog.tsx'
import { LiveWorker } from './live-worker.tsx'
import { requestWorkerAction } from './worker-requests.ts'

const LOSSES = {
  stop: 'The disk is kept.',
  terminate: "Labs, machine and disk are deleted. This can't be undone.",
} as const

/** A worker with sessions refuses to stop: lists what would be lost, and offers a drain instead. */
export const ForceDialog = ({ id, action }: { id: string; action: 'stop' | 'terminate' }) => (
  <LiveWorker id={id}>{worker => <ForceForm worker={worker} action={action} />}</LiveWorker>
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
        A forced {action} stops the labs of these sessions without a save. A session with time left moves to another
        worker, if one has capacity, and starts from its last save. {LOSSES[action]}
      </p>
      <LostSessions worker={worker} />
      <p>
        To keep their latest work, move the sessions first. To let them end first, use{' '}
        <button type="button" class="button small" onClick={drain}>
          Drain instead…
        </button>
      </p>
    </ConfirmDialog>
  )
}

/** Sessions that the user may not see are listed by id. */
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
            <SessionBadge session={session} />
            <span class="muted">
              <Owner session={session} />, until <Timestamp at={session.timeslot.end} />
            </span>
          </li>
        )
      })}
    </ul>
  )
}
