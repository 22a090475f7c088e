import { timingId } from '@lcm/domain/calendar/timings'
import type { Api } from '../../api-context.ts'
import { listAll } from '../list-documents.ts'

/** The boots of a template whose machines are others now say nothing about the next one. */
export const forgetBoots = (api: Api, template: string): Promise<void> =>
  forget(api, new Set([timingId.boot(template), timingId.firstBoot(template)]))

/** Deletes timings of definitions and templates that do not exist any more. */
export async function pruneTimings(api: Api): Promise<void> {
  const ids = new Set((await listAll(api.timings)).map(({ id }) => id))
  for (const { name } of await listAll(api.definitions)) ids.delete(timingId.lab(name))
  for (const { name } of await listAll(api.templates)) {
    ids.delete(timingId.boot(name))
    ids.delete(timingId.firstBoot(name))
  }
  ids.delete(timingId.teardown)
  await forget(api, ids)
}

async function forget(api: Api, ids: ReadonlySet<string>): Promise<void> {
  for (const id of ids) {
    const timing = await api.timings.get(id)
    if (timing !== null) await api.timings.remove(timing)
  }
}
