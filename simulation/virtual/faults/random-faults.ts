import { UnreachableError } from '@lcm/client/api-error'
import type { Dispatch } from '@lcm/contract/wire'
import type { Clock } from '@lcm/runtime/clock'
import { type Collection, type Document, type Kind, type Store, StoreError } from '@lcm/store/store'
import type { SeededRandom } from '@lcm/testkit/seeded-random'

/** What goes wrong between the parts of LCM itself now, as the share of calls that it strikes. */
export interface RandomFaults {
  /** Requests to the API that are lost, or whose answers are lost or late. */
  apiRate: number
  /** Calls of CML that fail, are late, or have their effect without anybody hearing of it. */
  cmlRate: number
  /** Reads and writes that the store refuses; a write may have happened all the same. */
  storeRate: number
  /** Writes that another process of the API comes before: it takes the document one version further and changes nothing. */
  rivalRate: number
  /** How often anything of this has struck. */
  injected: number
}

export const NO_FAULTS = { apiRate: 0, cmlRate: 0, storeRate: 0, rivalRate: 0 } as const

export const randomFaults = (): RandomFaults => ({ ...NO_FAULTS, injected: 0 })

export interface RandomFaultParts {
  readonly faults: RandomFaults
  readonly random: SeededRandom
  readonly clock: Clock
}

const DELAY_MS_MAX = 8_000

/** The way to the API as a controller meets it. */
export function unreliable(dispatch: Dispatch, { faults, random, clock }: RandomFaultParts): Dispatch {
  return async request => {
    if (faults.apiRate === 0 || random.float() >= faults.apiRate) return dispatch(request)
    faults.injected += 1
    const outcome = random.int(3)
    if (outcome === 0) throw new UnreachableError('the request was lost')
    if (outcome === 1) await clock.sleep(random.int(DELAY_MS_MAX), request.signal)
    const response = await dispatch(request)
    if (outcome === 2) throw new UnreachableError('the answer was lost')
    return response
  }
}

const REFUSALS = ['database is locked (SQLITE_BUSY)', 'disk I/O error (SQLITE_IOERR)'] as const

/** Writes follow several reads, so reads fail less often. */
const READ_SHARE = 1 / 8

/** The store as the API meets it. A write that is refused may have happened all the same: nobody was told. */
export function unreliableStore(store: Store, { faults, random }: RandomFaultParts): Store {
  const isHit = (share: number) => faults.storeRate > 0 && random.float() < share * faults.storeRate
  const refused = () => {
    faults.injected += 1
    return new StoreError(`the store refused: ${REFUSALS[random.int(REFUSALS.length)]}`)
  }
  async function written<R>(write: () => Promise<R>): Promise<R> {
    if (!isHit(1)) return write()
    if (random.int(2) === 0) await write()
    throw refused()
  }
  const read =
    <A extends readonly unknown[], R>(read: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      isHit(READ_SHARE) ? Promise.reject(refused()) : read(...args)
  const { journal, series, announcements } = store
  return {
    ...store,
    collection<T extends Document>(kind: Kind<T>): Collection<T> {
      const documents = store.collection(kind)
      return {
        get: read(documents.get),
        list: read(documents.list),
        insert: (...args) => written(() => documents.insert(...args)),
        replace: (...args) => written(() => documents.replace(...args)),
        remove: (...args) => written(() => documents.remove(...args)),
      }
    },
    journal: { ...journal, query: read(journal.query), append: entries => written(() => journal.append(entries)) },
    series: {
      ...series,
      range: read(series.range),
      newest: read(series.newest),
      append: samples => written(() => series.append(samples)),
    },
    announcements: {
      ...announcements,
      pending: read(announcements.pending),
      done: changes => written(() => announcements.done(changes)),
    },
  }
}

/** The store as one of two processes of the API meets it. Writers in one process wait for each other, so only others can win. */
export function withConcurrentWrites(store: Store, { faults, random }: RandomFaultParts): Store {
  return {
    ...store,
    collection<T extends Document>(kind: Kind<T>): Collection<T> {
      const documents = store.collection(kind)
      async function rivalWrites(id: string): Promise<void> {
        const current = await documents.get(id)
        if (current === null) return
        faults.injected += 1
        await documents.replace({ ...current, version: current.version + 1 })
      }
      return {
        ...documents,
        async replace(document, entries) {
          if (faults.rivalRate > 0 && random.float() < faults.rivalRate) await rivalWrites(document.id)
          return documents.replace(document, entries)
        },
      }
    },
  }
}
