import { canMoveSession, type LabletSession } from '@lcm/domain/session/lablet-session'
import { canMove } from '@lcm/domain/worker/lifecycle'
import type { Worker, WorkerStatus } from '@lcm/domain/worker/worker'

interface Move<S> {
  readonly from: S | null
  readonly to: S
}

/** Transitions, oldest first, that do not start where the one before ended, or that no lifecycle allows. */
function broken<S>(name: string, moves: readonly Move<S>[], isLegal: (from: S, to: S) => boolean): string[] {
  return moves.flatMap(({ from, to }, n) => {
    const before = n === 0 ? from : (moves[n - 1]?.to ?? null)
    const isSound = from === before && (from === null || isLegal(from, to))
    return isSound ? [] : [`${name} moved from ${from} to ${to} while it was ${before}`]
  })
}

export const illegalWorkerMoves = (name: string, moves: readonly Move<WorkerStatus>[]): string[] =>
  broken(name, moves, canMove)

/** Uses the resource's own history, since not every version is published. */
export const illegalMovesOfWorker = ({ name, state_history }: Pick<Worker, 'name' | 'state_history'>): string[] =>
  illegalWorkerMoves(name, state_history)

export const illegalMovesOfSession = ({ id, state_history }: Pick<LabletSession, 'id' | 'state_history'>): string[] =>
  broken(id, state_history, canMoveSession)
