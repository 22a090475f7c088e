import { isProblem } from '@lcm/client/client'
import { useConsole } from '../../../parts/console-context.ts'
import { CapacityLoss } from '../../../parts/dialog/capacity-loss.tsx'
import { ConfirmDialog } from '../../../parts/dialog/confirm-dialog.tsx'
import { WorkerBadge } from '../../../parts/status/status-badge.tsx'
import { ForceDialog } from './force-dialog.tsx'
import { LiveWorker } from './live-worker.tsx'
import { requestWorkerAction } from './worker-requests.ts'

export function TerminateDialog({ id }: { id: string }) {
  const { requests, dialog } = useConsole()
  const offerForce = (refusal: unknown) => {
    if (!isProblem(refusal, 'worker_has_sessions')) return false
    dialog.value = <ForceDialog id={id} action="terminate" />
    return true
  }
  return (
    <LiveWorker id={id}>
      {worker => (
        <ConfirmDialog
          title={`Terminate ${worker.name}?`}
          verb="Terminate"
          typed={worker.name}
          onConfirm={() => requestWorkerAction(requests, worker, 'terminate', { onRefused: offerForce })}
        >
          <p>
            Its machine, disk and all labs are deleted. <strong>This can't be undone.</strong> To keep the disk, stop
            the worker instead.
          </p>
          <CapacityLoss change={{ terminated_workers: [id] }} />
          <p class="muted">
            <WorkerBadge worker={worker} /> in {worker.aws_region}
          </p>
        </ConfirmDialog>
      )}
    </LiveWorker>
  )
}

export function RemoveDialog({ id }: { id: string }) {
  const { requests } = useConsole()
  return (
    <LiveWorker id={id}>
      {worker => (
        <ConfirmDialog
          title={`Remove the record of ${worker.name}?`}
          verb="Remove"
          typed={null}
          onConfirm={() => requestWorkerAction(requests, worker, 'remove')}
        >
          <p>The machine no longer exists. This deletes its record; the audit log is kept.</p>
        </ConfirmDialog>
      )}
    </LiveWorker>
  )
}
