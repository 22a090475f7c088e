import { type Collection, type Document, type Kind, type Store, StoreError } from '@lcm/store/store'

type Write = 'insert' | 'replace' | 'remove'

interface Interruption {
  readonly kind: string
  readonly write: Write
  readonly when: 'before' | 'after'
  /** Number of such writes that pass first. */
  readonly skip?: number
  /** Runs at the interruption; throws to fail the write. */
  run(): Promise<unknown> | unknown
}

export interface InterruptibleStore extends Store {
  /** Interrupts right before or after the next write of this kind: with another writer, or a crash. */
  interrupt(interruption: Interruption): void
}

/** Fails the current request as a dying process would. */
export function crash(): never {
  throw new StoreError('the process is gone')
}

/** A store that tests can interrupt between two steps of a command. */
export function interruptibleStore(store: Store): InterruptibleStore {
  let armed: (Interruption & { skipped: number }) | null = null

  async function around<T>(kind: string, write: Write, work: () => Promise<T>): Promise<T> {
    const now = armed
    if (now === null || now.kind !== kind || now.write !== write) return work()
    if (now.skipped < (now.skip ?? 0)) {
      now.skipped += 1
      return work()
    }
    armed = null
    if (now.when === 'before') await now.run()
    const result = await work()
    if (now.when === 'after') await now.run()
    return result
  }

  function collection<T extends Document>(kind: Kind<T>): Collection<T> {
    const inner = store.collection(kind)
    return {
      ...inner,
      insert: (document, entries) => around(kind.name, 'insert', () => inner.insert(document, entries)),
      replace: (document, entries) => around(kind.name, 'replace', () => inner.replace(document, entries)),
      remove: (document, entries) => around(kind.name, 'remove', () => inner.remove(document, entries)),
    }
  }

  return {
    ...store,
    collection,
    interrupt(interruption) {
      armed = { ...interruption, skipped: 0 }
    },
  }
}
