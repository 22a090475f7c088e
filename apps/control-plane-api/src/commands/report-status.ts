import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { assert } from '@lcm/domain/assert'
import { type Fence, raiseFence } from '@lcm/domain/fencing'
import { toInstant } from '@lcm/domain/instant'
import { withoutCondition } from '@lcm/domain/worker/boot'
import { canMove, movesFrom } from '@lcm/domain/worker/lifecycle'
import { CONDITION, STATE_HISTORY_MAX, type Worker, type WorkerStatus } from '@lcm/domain/worker/worker'
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
    const fence = raised(worker, request)
    const changed: Worker = { ...worker, ...changes, fence }
    if (changed.status === worker.status) return changed
    return moved(changed, worker.status, { at: toInstant(api.clock.now()), because: decision.because })
  })
}

/** The second check, inside the compare-and-set: a leader that was overtaken between the two is refused here. */
function raised(worker: Worker, { actor, fence }: { actor: Actor; fence: number | null }): Fence {
  assert(actor.service !== null && fence !== null, 'the route is fenced')
  const next = raiseFence(worker.fence, actor.service, fence)
  if (next === null)
    throw new ProblemError('stale_leader', `a newer leader of ${actor.service} has written ${worker.name} already`)
  return next
}

function moved(worker: Worker, from: WorkerStatus, note: { at: string; because: string }): Worker {
  const to = worker.status
  if (!canMove(from, to)) {
    const allowed = movesFrom(from).join(', ') || 'nowhere'
    throw new ProblemError('illegal_transition', `${from} can not become ${to}; from there it goes to ${allowed}`)
  }
  const history = [...worker.state_history, { from, to, ...note }].slice(-STATE_HISTORY_MAX)
  const conditions = from === 'FAILED' ? withoutCondition(worker.conditions, CONDITION.failed) : worker.conditions
  return { ...worker, conditions, entered_status_at: note.at, state_history: history }
}
