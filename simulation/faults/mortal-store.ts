import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import type { When } from '../port-calls.ts'

/** What a process of the API can reach, until it dies. From then on nothing it asks for happens, and nobody answers it. */
export interface Mortality {
  readonly isAlive: boolean
  store(store: Store): Store
  changeKeys(keys: ChangeKeys): ChangeKeys
  /** Does `act` before or after the call of the store that comes after so many others. */
  strikeAt(callsAhead: number, when: When, act: () => void): void
  /** Nothing strikes any more. */
  spare(): void
  end(): void
}

interface Stroke {
  readonly call: number
  readonly when: When
  readonly act: () => void
}

type Method<A extends readonly unknown[], R> = (...args: A) => Promise<R>

export function mortality(): Mortality {
  let isAlive = true
  let made = 0
  let strokes: readonly Stroke[] = []

  function strikes(call: number, when: When): void {
    const due = strokes.filter(stroke => stroke.call === call && stroke.when === when)
    strokes = strokes.filter(stroke => !due.includes(stroke))
    for (const { act } of due) act()
  }

  const gate =
    <A extends readonly unknown[], R>(call: Method<A, R>): Method<A, R> =>
    (...args) => {
      made += 1
      if (!isAlive) return never()
      return strokes.length === 0 ? call(...args) : struck(made, () => call(...args))
    }

  async function struck<R>(index: number, call: () => Promise<R>): Promise<R> {
    strikes(index, 'before')
    if (!isAlive) return never()
    const answer = await call()
    strikes(index, 'after')
    return isAlive ? answer : never()
  }

  return {
    get isAlive() {
      return isAlive
    },
    end() {
      isAlive = false
    },
    strikeAt(callsAhead, when, act) {
      strokes = [...strokes, { call: made + 1 + callsAhead, when, act }]
    },
    spare() {
      strokes = []
    },
    store: store => gatedStore(store, gate),
    changeKeys: keys => ({ ...keys, publish: gate(keys.publish), remove: gate(keys.remove) }),
  }
}

/** Each on its own, or one would hold on to all who ever waited. */
const never = () => new Promise<never>(() => undefined)

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
    settle: gate(store.settle),
  }
}
