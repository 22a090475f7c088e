import { isProblem } from '@lcm/client/api-error'
import type { Election } from '@lcm/runtime'

/** What was announced no longer holds: somebody wrote meanwhile. Nothing was sent. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError'
}

/** Runs a write of this term. Losing the race to another writer is no failure: look again at what they wrote. */
export async function fencedWrite<Answer>(election: Election, write: () => Promise<Answer>): Promise<Answer> {
  try {
    return await write()
  } catch (error) {
    if (isProblem(error, 'version_mismatch', 'illegal_transition'))
      throw new SupersededError('somebody else wrote meanwhile', { cause: error })
    // The API knows another term: only a new one, registered anew, can be of use.
    if (isProblem(error, 'stale_leader', 'term_not_registered')) await election.resign()
    throw error
  }
}
