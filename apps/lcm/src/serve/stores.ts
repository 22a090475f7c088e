import type { Outages } from '@lcm/controllers/kit/outages'
import type { Collection, Document, Kind, Store } from '@lcm/store/store'

/** Wraps a store, so that failing reads or writes, as on a full disk, show in the health of the process. */
export function watchedStore(store: Store, outages: Outages): Store {
  const noting =
    (what: string) =>
    <A extends readonly unknown[], R>(call: (...asked: A) => Promise<R>) =>
    async (...asked: A): Promise<R> => {
      try {
        const answer = await call(...asked)
        outages.answered(what)
        return answer
      } catch (error) {
        outages.failed(what, error)
        throw error
      }
    }
  const reading = noting('the store (reads)')
  const writing = noting('the store (writes)')
  return {
    ...store,
    collection<T extends Document>(kind: Kind<T>): Collection<T> {
      const { get, list, insert, replace, remove } = store.collection(kind)
      return {
        get: reading(get),
        list: reading(list),
        insert: writing(insert),
        replace: writing(replace),
        remove: writing(remove),
      }
    },
  }
}
