import { ProblemError } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'

/** Who finishes what requests and controllers left behind. */
export const SYSTEM_ACTOR: Actor = { id: 'control-plane-api', name: 'control-plane-api', role: 'admin', service: null }

/** A change that nobody asked for. With a version it gives way to whoever was faster. */
export const asSystem = (id: string, ifMatch: number | null = null) => ({
  params: { id },
  actor: SYSTEM_ACTOR,
  ifMatch,
  once: null,
})

/** What somebody else has changed or removed meanwhile is looked at again another time. */
export async function nullOnConflict<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if (error instanceof ProblemError && (error.code === 'version_mismatch' || error.code === 'not_found')) return null
    throw error
  }
}
