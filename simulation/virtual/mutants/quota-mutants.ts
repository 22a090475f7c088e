import { RESOURCES } from '@lcm/control-plane/resources'
import { Quota } from '@lcm/domain/quota/quota'
import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import { at, type Mutant } from './mutant.ts'

/** A class that books in bursts. */
const BURSTS = [
  at(0, 'limit bookings'),
  ...Array.from({ length: 6 }, (_, n) => at(1 + n, 'book many at once', { target: n / 6, amount: n / 6 })),
]

/** Shows only the bookings whose sessions are stored, and keeps the others when the ledger is written. */
function withoutBookingsInProgress(store: Store): Store {
  const sessions = store.collection(RESOURCES.sessions)
  async function seen(quota: Quota): Promise<Quota> {
    const known: Quota['ledger'] = {}
    for (const [id, entry] of Object.entries(quota.ledger)) if ((await sessions.get(id)) !== null) known[id] = entry
    return { ...quota, ledger: known }
  }
  return {
    ...store,
    collection<D extends Document>(kind: Kind<D>): Collection<D> {
      const documents = store.collection(kind)
      if (kind.name !== RESOURCES.quotas.name) return documents
      return {
        ...documents,
        async get(id) {
          const stored = await documents.get(id)
          return stored && kind.parse(await seen(Quota.parse(stored)))
        },
        async replace(document, entries) {
          const { ledger } = Quota.parse(await documents.get(document.id))
          const next = Quota.parse(document)
          return documents.replace(kind.parse({ ...next, ledger: { ...ledger, ...next.ledger } }), entries)
        },
      }
    },
  }
}

/** Defects in the admission of bookings. */
export const quotaMutants: readonly Mutant[] = [
  {
    name: 'bookings in progress not counted',
    breaks: 'a booking counts only once its session is stored, so concurrent bookings exceed the quota',
    caughtBy: /sessions, and quota_user_(live|future)_sessions is/,
    acts: BURSTS,
    defects: () => ({ store: withoutBookingsInProgress }),
  },
]
