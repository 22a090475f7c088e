import type { Collection, Db } from 'mongodb'

type Operation = 'insertOne' | 'updateOne' | 'replaceOne' | 'deleteOne' | 'deleteMany' | 'findOne' | 'createIndexes'
const OPERATIONS: readonly string[] = [
  'insertOne',
  'updateOne',
  'replaceOne',
  'deleteOne',
  'deleteMany',
  'findOne',
  'createIndexes',
] satisfies Operation[]
const DUPLICATE_KEY = 11_000

/**
 * Counts server calls and makes one of them, and all later ones, fail as if the process had crashed. A bulk write
 * counts as many calls, because a server may crash between its parts.
 */
export function crashableMongo(db: Db) {
  let calls = 0
  let crashAt: { call: number; when: 'before' | 'after' } | null = null
  let meanwhile: { call: number; work(): Promise<unknown> } | null = null

  async function through<T>(call: () => Promise<T>): Promise<T> {
    calls += 1
    if (calls === meanwhile?.call) await meanwhile.work()
    if (crashAt === null || calls < crashAt.call) return call()
    if (calls === crashAt.call && crashAt.when === 'after') await call()
    throw new Error('killed')
  }

  return {
    db: proxied(db, {
      collection: (name: string) => dyingCollection(db.collection(name), through),
    }),
    arm(call: number, when: 'before' | 'after') {
      calls = 0
      crashAt = { call, when }
    },
    /** Runs `work` just before the nth call from now on. If it throws, the call fails with that error. */
    meanwhile(call: number, work: () => Promise<unknown>) {
      calls = 0
      meanwhile = { call, work }
    },
    calls: () => calls,
  }
}

type Through = <T>(call: () => Promise<T>) => Promise<T>
type Part = Readonly<Record<string, Readonly<Record<string, unknown>>>>

function dyingCollection(collection: Collection, through: Through): Collection {
  const single = (name: string) => {
    const operation = Reflect.get(collection, name).bind(collection)
    return (...args: unknown[]) => through(() => operation(...args))
  }
  return proxied(collection, {
    ...Object.fromEntries(OPERATIONS.map(name => [name, single(name)])),
    find(...args: Parameters<Collection['find']>) {
      const cursor = collection.find(...args)
      return proxied(cursor, { toArray: () => through(() => cursor.toArray()) })
    },
    insertMany: (documents: readonly unknown[]) =>
      unordered(documents.map(document => () => single('insertOne')(document))),
    async bulkWrite(parts: readonly Part[], { ordered }: { ordered: boolean }) {
      const calls = parts.flatMap(part =>
        Object.entries(part).map(
          ([name, given]) =>
            () =>
              partOf(name, given),
        ),
      )
      if (!ordered) return unordered(calls)
      for (const call of calls) await call()
    },
  })

  function partOf(name: string, { filter, update, replacement, upsert }: Readonly<Record<string, unknown>>) {
    const change = update ?? replacement
    return change === undefined ? single(name)(filter) : single(name)(filter, change, { upsert: upsert === true })
  }
}

/** As the driver does: continues after a refusal and reports all of them at the end. */
async function unordered(calls: readonly (() => Promise<unknown>)[]): Promise<void> {
  const writeErrors: unknown[] = []
  for (const call of calls) {
    try {
      await call()
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === DUPLICATE_KEY)) throw error
      writeErrors.push(error)
    }
  }
  if (writeErrors.length > 0) throw Object.assign(new Error('some were refused'), { code: DUPLICATE_KEY, writeErrors })
}

function proxied<T extends object>(target: T, instead: Readonly<Record<string, unknown>>): T {
  return new Proxy(target, {
    get(object, name) {
      const value = Object.hasOwn(instead, name) ? instead[String(name)] : Reflect.get(object, name, object)
      return typeof value === 'function' && value === Reflect.get(object, name, object) ? value.bind(object) : value
    },
  })
}
