import { isProblem } from '@lcm/client/api-error'
import type { Worker } from '@lcm/domain/worker/worker'
import type { VNode } from 'preact'
import { useConsole } from '../../../parts/console-context.ts'
import { DrainDialog } from './drain-dialog.tsx'
import { EditDialog } from './edit-dialog.tsx'
import { ForceDialog } from './force-dialog.tsx'
import { askWorker } from './request-worker.ts'
import { RemoveDialog, TerminateDialog } from './terminate-dialog.tsx'
import type { WorkerAct } from './worker-actions.ts'

/** Begins an act: by asking at once, or by the dialog that it needs. */
export function useWorkerActs(): (worker: Worker, act: WorkerAct) => void {
  const { asks, dialog } = useConsole()
  const show = (needed: VNode) => {
    dialog.value = needed
  }
  const offerForce = (id: string) => (refusal: unknown) => {
    if (!isProblem(refusal, 'worker_has_sessions')) return false
    show(<ForceDialog id={id} act="stop" />)
    return true
  }
  return (worker, act) => {
    const { id } = worker
    switch (act) {
      case 'drain':
        return show(<DrainDialog id={id} />)
      case 'terminate':
        return show(<TerminateDialog id={id} />)
      case 'edit':
        return show(<EditDialog id={id} />)
      case 'remove':
        return show(<RemoveDialog id={id} />)
      default:
        askWorker(asks, worker, act, { isDealtWith: offerForce(id) })
    }
  }
}
