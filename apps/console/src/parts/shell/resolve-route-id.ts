import { isFinal } from '@lcm/domain/session/lablet-session'
import { groupsOf } from '../../pages/definition/definition-groups.ts'
import type { Collections } from '../../state/live-state.ts'
import type { DetailPage } from '../../state/router.ts'

/** The ids that an address may mean: an id goes before a name, and what lives before what is gone. */
export function resolveRouteIds(page: DetailPage, idOrName: string, live: Collections): string[] {
  if (live[page].get(idOrName) !== undefined) return [idOrName]
  return namedOn[page](idOrName, live).map(({ id }) => id)
}

type Named = (name: string, live: Collections) => readonly { readonly id: string }[]

const namedOn: Readonly<Record<DetailPage, Named>> = {
  worker(name, live) {
    const named = [...live.worker.all().values()].filter(worker => worker.name === name)
    const living = named.filter(({ status }) => status !== 'TERMINATED')
    return living.length > 0 ? living : named
  },
  /** The version that a booking would get. */
  definition: (name, live) =>
    groupsOf([...live.definition.all().values()].filter(definition => definition.name === name)).map(
      ({ current }) => current,
    ),
  /** Sessions have no names of their own: people know them by what was booked. */
  session: (name, live) =>
    [...live.session.all().values()].filter(({ definition, status }) => definition.name === name && !isFinal(status)),
}
