import type { Announcements, Change } from '../store.ts'
import type { Guard } from './error-guard.ts'
import type { KindRegistry, RegisteredKind } from './kind-registry.ts'
import { EXPIRED_TOMBSTONE } from './stored-records.ts'

export interface MongoAnnouncements extends Announcements {
  wake(): void
}

export function mongoAnnouncements(kinds: KindRegistry, guard: Guard): MongoAnnouncements {
  const listeners = new Set<() => void>()
  return {
    pending: limit =>
      guard(async () => {
        const found: Change[] = []
        for (const kind of kinds.all())
          if (kind.announced && found.length < limit) found.push(...(await pendingOf(kind, limit - found.length)))
        return found
      }),
    done: changes =>
      guard(async () => {
        for (const kind of kinds.all())
          await doneOf(
            kind,
            changes.filter(change => change.kind === kind.name),
          )
      }),
    onCommit(wake) {
      const listener = () => wake()
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    wake() {
      for (const listener of listeners) queueMicrotask(() => listeners.has(listener) && listener())
    },
  }
}

async function pendingOf(kind: RegisteredKind, limit: number): Promise<Change[]> {
  const options = { projection: { version: 1, deleted: 1 }, sort: { _id: 1 }, limit, batchSize: limit } as const
  const found = await (await kind.documents()).find({ announce: true }, options).toArray()
  return found.map(({ _id, version, deleted = false }) => ({ kind: kind.name, id: _id, version, deleted }))
}

/** A tombstone is deleted here, or by the outbox flush, whichever comes last. */
async function doneOf(kind: RegisteredKind, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return
  const published = changes.map(({ id, version }) => ({
    updateOne: { filter: { _id: id, version }, update: { $unset: { announce: '' as const } } },
  }))
  const removals = changes.filter(({ deleted }) => deleted)
  const finished = removals.map(({ id, version }) => ({
    deleteOne: { filter: { _id: id, version, ...EXPIRED_TOMBSTONE } },
  }))
  await (await kind.documents()).bulkWrite([...published, ...finished], { ordered: true })
}
