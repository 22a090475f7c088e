import { isProblem } from '@lcm/client/client'
import type { Election } from '@lcm/runtime'

/** The resource was changed by another writer since it was read. Nothing was written or sent. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError'
  constructor(options?: ErrorOptions) {
    super('superseded by another write', options)
  }
}

const SUPERSEDING = ['version_mismatch', 'illegal_transition'] as const

/**
 * Sends one write of this term. Throws SupersededError for problems in `superseding`: reconcile again from the new version. When
 * the API knows another term, only a newly registered one can write, so this instance resigns.
 */
export async function fencedWrite<Answer>(
  election: Pick<Election, 'resign'>,
  send: () => Promise<Answer>,
  superseding: readonly string[] = SUPERSEDING,
): Promise<Answer> {
  try {
    return await send()
  } catch (error) {
    if (isProblem(error, ...superseding)) throw new SupersededError({ cause: error })
    if (isProblem(error, 'stale_leader', 'term_not_registered')) await election.resign()
    throw error
  }
}
