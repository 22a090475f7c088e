import type { DatabaseSyncInstance } from '@photostructure/sqlite'

/** Counts database calls and makes one of them, and all later ones, fail as if the process had crashed. */
export function crashableSqlite(db: DatabaseSyncInstance) {
  let calls = 0
  let crashAt: { call: number; when: 'before' | 'after' } | null = null

  function through<T>(call: () => T): T {
    calls += 1
    if (crashAt === null || calls < crashAt.call) return call()
    if (calls === crashAt.call && crashAt.when === 'after') call()
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
      crashAt = { call, when }
    },
    calls: () => calls,
  }
}
