import type { Client } from '@lcm/client/client'
import type { Kind } from '../kinds.ts'
import { DEFINITIONS, LABS, LEAKS, SERVICES, SESSIONS, TEMPLATES, WORKERS } from '../kinds.ts'
import { handlesOf, type Resource } from '../resource-view.ts'
import { TOKENS } from '../token/token-kind.ts'

type List = (client: Client, signal: AbortSignal) => Promise<readonly string[]>

const listing =
  <T extends Resource>(kind: Kind<T>): List =>
  async (client, signal) =>
    handlesOf(kind.view, (await kind.list(client, false, signal)).items)

const LISTS: Readonly<Record<string, List>> = {
  worker: listing(WORKERS),
  template: listing(TEMPLATES),
  definition: listing(DEFINITIONS),
  session: listing(SESSIONS),
  lab: listing(LABS),
  service: listing(SERVICES),
  leak: listing(LEAKS),
  token: listing(TOKENS),
}

/** Current names of the resources of a noun. */
export const namesOf = (noun: string, client: Client, signal: AbortSignal): Promise<readonly string[]> =>
  LISTS[noun]?.(client, signal) ?? Promise.resolve([])
