import { ProblemError } from '@lcm/contract/problems'
import { toInstant } from '@lcm/domain/instant'
import type { Clock } from '@lcm/runtime/clock'
import type { Collection, Document } from '@lcm/store/store'

/** Lost races end here; each lost one means that another writer won, so this many in a row is a defect. */
const RACES_MAX = 100

interface Resource extends Document {
  readonly updated_at: string
}

/**
 * Changes one document by compare-and-set. `change` sees the newest version and throws a problem to refuse; giving back what
 * it got means that there is nothing to write. A caller who named a version never overwrites another.
 */
export async function changeDocument<T extends Resource>(
  target: { collection: Collection<T>; id: string; noun: string },
  clock: Clock,
  ifMatch: number | null,
  change: (current: T) => T,
): Promise<T> {
  for (let race = 0; race < RACES_MAX; race++) {
    const current = await target.collection.get(target.id)
    if (current === null) throw new ProblemError('not_found', `there is no ${target.noun} ${target.id}`)
    refuseStale(current, ifMatch)
    const changed = change(current)
    if (changed === current) return current
    const next = { ...changed, version: current.version + 1, updated_at: toInstant(clock.now()) }
    const result = await target.collection.replace(next)
    if (result.ok) return next
    if (result.reason === 'taken')
      throw new ProblemError('already_exists', `another ${target.noun} has that ${result.field}`)
  }
  throw new ProblemError('store_unavailable', `${target.noun} ${target.id} is written too often; try again`)
}

export function refuseStale(current: Document, ifMatch: number | null): void {
  if (ifMatch !== null && ifMatch !== current.version) {
    throw new ProblemError(
      'version_mismatch',
      `it is at version ${current.version} by now, not ${ifMatch}: read it again`,
    )
  }
}
