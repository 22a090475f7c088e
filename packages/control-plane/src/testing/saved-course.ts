import { gzipSync } from 'node:zlib'
import { toInstant } from '@lcm/domain/instant'
import type { Save } from '@lcm/domain/save/save'
import type { ControlPlaneParts } from '../control-plane.ts'
import { type CollectionName, collectionOf, type DocumentOf, openCollections } from '../resources.ts'
import { aCourse } from './bookable-fleet.ts'

/** The content of a save whose routers have this name. */
export const workOf = (name: string): string => `lab:\n  title: ${name}\nnodes:\n  - configuration: hostname ${name}\n`
export const packed = (text: string): string => gzipSync(text).toString('base64')

/** A course with sessions whose work is saved. */
export function aSavedCourse(setting: Partial<ControlPlaneParts> = {}) {
  const course = aCourse(setting)
  const collections = openCollections(course.store)

  /** Changes fields that no route changes. */
  async function editDocument<N extends CollectionName>(name: N, id: string, changes: Partial<DocumentOf<N>>) {
    const document = await collectionOf(collections, name).get(id)
    if (document === null) throw new Error(`${name} has no ${id}`)
    await course.put(name, { ...document, ...changes })
  }

  const store = (sessionId: string, work: string, more: object = {}, epoch = 1) =>
    course.asLablets(
      `lablet-sessions/${sessionId}/saves`,
      {
        cause: 'interval',
        began_at: toInstant(course.clock.now()),
        topology: packed(work),
        nodes: [{ label: 'r1', outcome: 'saved', reason: null }],
        ...more,
      },
      epoch,
    )

  return {
    ...course,
    editDocument,
    storeSave: store,
    /** A save of this work, a second after the previous one. */
    async saved(sessionId: string, work: string, more: object = {}): Promise<Save> {
      await course.clock.advance(1_000)
      const answer = await store(sessionId, work, more)
      if (answer.status !== 200) throw new Error(String(answer.body))
      return answer.json
    },
    /** One round of housekeeping; returns how many saves are left. */
    async maintain(): Promise<number> {
      await course.tend(0)
      return (await collections.saves.list({ limit: 10_000 })).length
    },
    /** A session in its slot. */
    async inSlot() {
      const { id: worker } = await course.serving()
      return course.placed(worker, 'INSTANTIATING', 'READY', 'RUNNING')
    },
    /** Ends a session as its controller does. */
    async end(id: string): Promise<void> {
      for (const status of ['STOPPING', 'STOPPED', 'ARCHIVED']) await course.reportSession(id, { status })
    },
    workIn: async (id: string, as: 'admin' | 'user' | 'operator' = 'user') =>
      (await course.send('GET', `saves/${id}/topology`, { as })).json.topology,
    listed: async (query = '', as: 'admin' | 'user' = 'admin'): Promise<Save[]> =>
      (await course.send('GET', `saves?limit=1000&${query}`, { as })).json.items,
  }
}

export type SavedCourse = ReturnType<typeof aSavedCourse>
