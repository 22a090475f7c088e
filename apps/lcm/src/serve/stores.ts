import { STORE_SCHEMA } from '@lcm/control-plane/resources'
import { type Outages, watchedCalls } from '@lcm/controllers/kit/dependency-outages'
import type { Logger } from '@lcm/runtime'
import { openMongoStore } from '@lcm/store/mongo/store'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { type Collection, type Document, type Kind, type Store, StoreError, type StoreSchema } from '@lcm/store/store'
import { StartupError } from './startup-error.ts'

export function openStore(file: string, log: Logger): Store {
  try {
    return openSqliteStore(file, { schema: upgradeable(log), gather: setImmediate })
  } catch (cause) {
    throw asStartupError(cause)
  }
}

/** Rejects with a StoreError while the server is unreachable, and with a StartupError if waiting won't help. */
export async function openSharedStore(uri: string, log: Logger): Promise<Store> {
  try {
    return await openMongoStore({ uri, schema: upgradeable(log) })
  } catch (cause) {
    throw cause instanceof StoreError && !cause.isFinal ? cause : asStartupError(cause)
  }
}

const upgradeable = (log: Logger): StoreSchema => ({
  ...STORE_SCHEMA,
  onUpgrade: from => log.info({ from, to: STORE_SCHEMA.upgrades.length }, 'upgrading the store of an earlier release'),
})

/** Runs the first writes to the store. Rejects with a StartupError if the store fails. */
export async function prepared<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw asStartupError(cause)
  }
}

const asStartupError = (cause: unknown): unknown =>
  cause instanceof StoreError ? new StartupError(cause.advice ?? cause.message, { cause }) : cause

/** Wraps a store, so that failing reads or writes, as on a full disk, show in the health of the process. */
export function watchedStore(store: Store, outages: Outages): Store {
  const reading = watchedCalls(outages, 'the store (reads)')
  const writing = watchedCalls(outages, 'the store (writes)')
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
