import { signal } from '@preact/signals'

export interface Versioned {
  readonly id: string
  readonly version: number
}

/** Resources of one kind. An older version never overwrites a newer one, in whatever order they arrive. */
export interface Collection<T> {
  /** All resources by id. Reading it in a component or effect subscribes to every change. */
  all(): ReadonlyMap<string, T>
  get(id: string): T | undefined
  put(item: T): void
  remove(id: string, version: number): void
  /**
   * Replaces the content with a complete list, which must be newer than everything held. It forgets versions too: after the
   * restore of a backup they start lower.
   */
  replaceBy(items: readonly T[]): void
}

/** Deletions are remembered, so that a late update can't bring a resource back. */
const DELETIONS_MAX = 1000

export function collection<T extends Versioned>(): Collection<T> {
  const held = new Map<string, T>()
  const deletedAt = new Map<string, number>()
  const changes = signal(0)

  const isNewer = (item: T): boolean =>
    item.version > (held.get(item.id)?.version ?? 0) && item.version > (deletedAt.get(item.id) ?? 0)

  const rememberDeletion = (id: string, version: number) => {
    deletedAt.set(id, version)
    const [oldest] = deletedAt.keys()
    if (deletedAt.size > DELETIONS_MAX && oldest !== undefined) deletedAt.delete(oldest)
  }

  const read = (): ReadonlyMap<string, T> => {
    changes.value
    return held
  }

  return {
    all: read,
    get: id => read().get(id),
    put(item) {
      if (!isNewer(item)) return
      held.set(item.id, item)
      changes.value++
    },
    remove(id, version) {
      if (version < (held.get(id)?.version ?? 0)) return
      rememberDeletion(id, version)
      if (held.delete(id)) changes.value++
    },
    replaceBy(items) {
      held.clear()
      deletedAt.clear()
      for (const item of items) held.set(item.id, item)
      changes.value++
    },
  }
}
