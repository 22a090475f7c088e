import { EVENT_RESOURCE_NAMES, RESOURCE_KINDS, RESOURCE_NAMES, type ResourceName } from '@lcm/contract/resource-kinds'
import type { ChangeHint } from '@lcm/coordination/change-keys'
import type { Api } from '../http/api.ts'
import { collectionOf, PUBLISHED } from '../resources.ts'

/** Change keys of one kind of resource, and the hints that belong there. */
export interface PublishedResource {
  readonly kind: string
  readonly keyPrefix: string
  get(id: string): Promise<ChangeHint | null>
  list(after: string, limit: number): Promise<readonly ChangeHint[]>
}

export const publishedResources = (api: Api): readonly PublishedResource[] =>
  RESOURCE_NAMES.map(name => publishedResource(api, name))

function publishedResource<N extends ResourceName>(api: Api, name: N): PublishedResource {
  const collection = collectionOf(api, name)
  const { changeHint } = PUBLISHED[name]
  return {
    kind: RESOURCE_KINDS[name].kind,
    keyPrefix: RESOURCE_KINDS[name].keyPrefix,
    async get(id) {
      const document = await collection.get(id)
      return document && changeHint(document)
    },
    list: async (after, limit) => (await collection.list({ after, limit })).map(changeHint),
  }
}

/** Resource that a change key stands for; null for a key of another program. */
export function resourceOfKey(key: string): { kind: string; id: string } | null {
  const row = Object.values(RESOURCE_KINDS).find(({ keyPrefix }) => key.startsWith(keyPrefix))
  return row === undefined ? null : { kind: row.kind, id: key.slice(row.keyPrefix.length) }
}

/** Resource whose events a change of this kind causes; undefined when it causes none. */
export const eventResourceOf = (kind: string) => EVENT_RESOURCE_NAMES.find(name => RESOURCE_KINDS[name].kind === kind)
