import { ProblemError } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'

/** Actor of housekeeping and cleanup. */
export const SYSTEM_ACTOR: Actor = { id: 'control-plane-api', name: 'control-plane-api', role: 'admin', service: null }

/** A request of the system. With a version it loses against any concurrent writer. */
export const asSystem = (id: string, ifMatch: number | null = null) => ({
  params: { id },
  actor: SYSTEM_ACTOR,
  ifMatch,
  once: null,
})

/** Null after a concurrent change or deletion; a later run tries again. */
export async function nullOnConflict<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if (error instanceof ProblemError && (error.code === 'version_mismatch' || error.code === 'not_found')) return null
    throw error
  }
}
