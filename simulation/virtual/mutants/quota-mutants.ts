import { RESOURCES } from '@lcm/control-plane/resources'
import type { Quota } from '@lcm/domain/quota/quota'
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
  const quotas = store.collection(RESOURCES.quotas)
  async function seen(quota: Quota): Promise<Quota> {
    const known: Quota['ledger'] = {}
    for (const [id, entry] of Object.entries(quota.ledger)) if ((await sessions.get(id)) !== null) known[id] = entry
    return { ...quota, ledger: known }
  }
  const blind: Collection<Quota> = {
    ...quotas,
    async get(id) {
      const quota = await quotas.get(id)
      return quota && seen(quota)
    },
    async replace(quota, entries) {
      const stored = await quotas.get(quota.id)
      return quotas.replace({ ...quota, ledger: { ...stored?.ledger, ...quota.ledger } }, entries)
    },
  }
  return {
    ...store,
    collection: <D extends Document>(kind: Kind<D>): Collection<D> =>
      kind.name === RESOURCES.quotas.name ? (blind as unknown as Collection<D>) : store.collection(kind),
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
