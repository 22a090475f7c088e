import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import { faultPoints, never, type When } from './fault-points.ts'

/** The ports of an API process that can be killed. After its death calls have no effect and never return. */
export interface Killable {
  readonly isAlive: boolean
  store(store: Store): Store
  changeKeys(keys: ChangeKeys): ChangeKeys
  /** Runs `act` before or after the store call with that number, counted from now. */
  triggerAt(callsAhead: number, when: When, act: () => void): void
  /** Drops all planned faults. */
  clearFaults(): void
  end(): void
}

type Method<A extends readonly unknown[], R> = (...args: A) => Promise<R>

export function killable(): Killable {
  let isAlive = true
  let made = 0
  const planned = faultPoints<void>()

  const gate =
    <A extends readonly unknown[], R>(call: Method<A, R>): Method<A, R> =>
    (...args) => {
      made += 1
      if (!isAlive) return never()
      return callWithFaults(made, () => call(...args))
    }

  async function callWithFaults<R>(index: number, call: () => Promise<R>): Promise<R> {
    planned.trigger(index, 'before')
    if (!isAlive) return never()
    const answer = await call()
    planned.trigger(index, 'after')
    return isAlive ? answer : never()
  }

  return {
    get isAlive() {
      return isAlive
    },
    end() {
      isAlive = false
    },
    triggerAt: (callsAhead, when, act) => planned.plan(made + 1 + callsAhead, when, act),
    clearFaults: planned.clear,
    store: store => gatedStore(store, gate),
    changeKeys: keys => ({ ...keys, publish: gate(keys.publish), remove: gate(keys.remove) }),
  }
}

type Gate = <A extends readonly unknown[], R>(call: Method<A, R>) => Method<A, R>

function gatedStore(store: Store, gate: Gate): Store {
  const { journal, series, announcements, changes } = store
  return {
    ...store,
    collection<T extends Document>(kind: Kind<T>): Collection<T> {
      const documents = store.collection(kind)
      return {
        get: gate(documents.get),
        list: gate(documents.list),
        insert: gate(documents.insert),
        replace: gate(documents.replace),
        remove: gate(documents.remove),
      }
    },
    journal: { append: gate(journal.append), query: gate(journal.query), prune: gate(journal.prune) },
    series: {
      append: gate(series.append),
      range: gate(series.range),
      newest: gate(series.newest),
      recent: gate(series.recent),
      prune: gate(series.prune),
      drop: gate(series.drop),
    },
    announcements: { ...announcements, pending: gate(announcements.pending), done: gate(announcements.done) },
    changes: changes && { ...changes, position: gate(changes.position), since: gate(changes.since) },
    flushOutbox: gate(store.flushOutbox),
  }
}
