import { isProblem } from '@lcm/client/api-error'
import { useConsole } from '../../../parts/console-context.ts'
import { ConfirmDialog } from '../../../parts/dialog/confirm-dialog.tsx'
import { WorkerStatusBadge } from '../../../parts/status-badge.tsx'
import { ForceDialog } from './force-dialog.tsx'
import { askWorker } from './request-worker.ts'
import { OfWorker } from './worker-dialog.tsx'

export function TerminateDialog({ id }: { id: string }) {
  const { asks, dialog } = useConsole()
  const offerForce = (refusal: unknown) => {
    if (!isProblem(refusal, 'worker_has_sessions')) return false
    dialog.value = <ForceDialog id={id} act="terminate" />
    return true
  }
  return (
    <OfWorker id={id}>
      {worker => (
        <ConfirmDialog
          title={`Terminate ${worker.name}?`}
          verb="Terminate"
          typed={worker.name}
          onConfirm={() => askWorker(asks, worker, 'terminate', { isDealtWith: offerForce })}
        >
          <p>
            Its machine and disk are destroyed, with every lab on them. <strong>This can't be undone.</strong> To keep
            the disk, stop it instead.
          </p>
          <p class="muted">
            <WorkerStatusBadge worker={worker} /> in {worker.aws_region}
          </p>
        </ConfirmDialog>
      )}
    </OfWorker>
  )
}

export function RemoveDialog({ id }: { id: string }) {
  const { asks } = useConsole()
  return (
    <OfWorker id={id}>
      {worker => (
        <ConfirmDialog
          title={`Remove the record of ${worker.name}?`}
          verb="Remove"
          typed={null}
          onConfirm={() => askWorker(asks, worker, 'remove')}
        >
          <p>Its machine is gone already. What is known of it goes too; the audit log keeps what people did.</p>
        </ConfirmDialog>
      )}
    </OfWorker>
  )
}
