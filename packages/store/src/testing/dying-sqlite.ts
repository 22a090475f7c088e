import type { DatabaseSyncInstance } from '@photostructure/sqlite'

/** Counts the calls that reach the database and makes one of them, and all after it, fail as if the process were gone. */
export function dyingSqlite(db: DatabaseSyncInstance) {
  let calls = 0
  let dieAt: { call: number; when: 'before' | 'after' } | null = null

  function through<T>(call: () => T): T {
    calls += 1
    if (dieAt === null || calls < dieAt.call) return call()
    if (calls === dieAt.call && dieAt.when === 'after') call()
    throw new Error('killed')
  }

  const counted = <T extends object>(target: T, names: readonly string[]): T =>
    new Proxy(target, {
      get(object, name) {
        const value = Reflect.get(object, name, object)
        if (typeof value !== 'function') return value
        const bound = value.bind(object)
        if (name === 'prepare') return (text: string) => counted(bound(text), ['run', 'get', 'all'])
        return names.includes(String(name)) ? (...args: unknown[]) => through(() => bound(...args)) : bound
      },
    })

  return {
    db: counted(db, ['exec']),
    arm(call: number, when: 'before' | 'after') {
      calls = 0
      dieAt = { call, when }
    },
    calls: () => calls,
  }
}
