import { UnreachableError } from '@lcm/client/client'
import type { Dispatch } from '@lcm/contract/route-spec'
import type { Clock } from '@lcm/runtime/clock'
import { type Collection, type Document, type Kind, type Store, StoreError } from '@lcm/store/store'
import type { SeededRandom } from '@lcm/testkit/seeded-random'

/** Fault rates between the parts of LCM: the share of calls that a fault hits. */
export interface RandomFaults {
  /** API requests that are lost, or whose responses are lost or late. */
  apiRate: number
  /** CML calls that fail, are late, or take effect while their response is lost. */
  cmlRate: number
  /** Store reads and writes that are refused; a refused write may have taken effect. */
  storeRate: number
  /** Writes that lose a race: another API process first increments the version of the document. */
  rivalRate: number
  /** Number of faults so far. */
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

/** The API with lost and late requests. */
export function unreliable(dispatch: Dispatch, { faults, random, clock }: RandomFaultParts): Dispatch {
  return async request => {
    if (faults.apiRate === 0 || random.float() >= faults.apiRate) return dispatch(request)
    faults.injected += 1
    const outcome = random.int(3)
    if (outcome === 0) throw new UnreachableError('request lost')
    if (outcome === 1) await clock.sleep(random.int(DELAY_MS_MAX), request.signal)
    const response = await dispatch(request)
    if (outcome === 2) throw new UnreachableError('response lost')
    return response
  }
}

const REFUSALS = ['database is locked (SQLITE_BUSY)', 'disk I/O error (SQLITE_IOERR)'] as const

/** Writes follow several reads, so reads fail less often. */
const READ_SHARE = 1 / 8

/** A store that refuses some calls. A refused write may have taken effect. */
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

/** The store of one of two API processes. Writers in one process are serialized, so only another process can win a race. */
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
