import { isFinal } from '@lcm/domain/session/lablet-session'
import { groupsOf } from '../../pages/definition/definition-groups.ts'
import type { Collections } from '../../state/live-state.ts'
import type { DetailPage } from '../../state/router.ts'

/** Ids that match an id or a name in an address. Ids take precedence over names, existing workers over terminated ones. */
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
  /** The version that a new booking gets. */
  definition: (name, live) =>
    groupsOf([...live.definition.all().values()].filter(definition => definition.name === name)).map(
      ({ current }) => current,
    ),
  /** Sessions have no name: they are found by the name of their definition. */
  session: (name, live) =>
    [...live.session.all().values()].filter(({ definition, status }) => definition.name === name && !isFinal(status)),
}
