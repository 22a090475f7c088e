import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { toInstant } from '@lcm/domain/instant'
import { canMove, movesFrom } from '@lcm/domain/worker/lifecycle'
import { STATE_HISTORY_MAX, type Worker, type WorkerStatus } from '@lcm/domain/worker/worker'
import type { Api, Request } from '../api.ts'
import { changeDocument } from './change.ts'

/** Controllers report what is, never what is wanted. An illegal move is refused here, at the write. */
export function reportStatus(
  api: Api,
  request: Request<{ id: string }, undefined, BodyOf<'reportWorkerStatus'>>,
): Promise<Worker> {
  const { changes, decision } = request.body
  const target = { collection: api.workers, id: request.params.id, noun: 'worker' }
  return changeDocument(target, api.clock, request.ifMatch, worker => {
    const changed: Worker = { ...worker, ...changes }
    if (changed.status === worker.status) return changed
    return moved(changed, worker.status, { at: toInstant(api.clock.now()), because: decision.because })
  })
}

function moved(worker: Worker, from: WorkerStatus, note: { at: string; because: string }): Worker {
  const to = worker.status
  if (!canMove(from, to)) {
    const allowed = movesFrom(from).join(', ') || 'nowhere'
    throw new ProblemError('illegal_transition', `${from} can not become ${to}; from there it goes to ${allowed}`)
  }
  const history = [...worker.state_history, { from, to, ...note }].slice(-STATE_HISTORY_MAX)
  return { ...worker, entered_status_at: note.at, state_history: history }
}
