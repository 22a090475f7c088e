import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import { crash } from './interruptible-store.ts'

/** A store for one process that dies before or after its n-th call, and answers nothing from then on. */
export function crashingStore(store: Store, { call, when }: { call: number; when: 'before' | 'after' }) {
  let calls = 0
  let isDead = false

  async function counted<T>(work: () => Promise<T>): Promise<T> {
    calls += 1
    isDead ||= calls > call || (calls === call && when === 'before')
    if (isDead) crash()
    const result = await work()
    isDead ||= calls >= call
    return isDead ? crash() : result
  }

  function collection<T extends Document>(kind: Kind<T>): Collection<T> {
    const inner = store.collection(kind)
    return {
      get: id => counted(() => inner.get(id)),
      list: query => counted(() => inner.list(query)),
      insert: (document, entries) => counted(() => inner.insert(document, entries)),
      replace: (document, entries) => counted(() => inner.replace(document, entries)),
      remove: (document, entries) => counted(() => inner.remove(document, entries)),
    }
  }

  return { ...store, collection, hasCrashed: () => isDead }
}
