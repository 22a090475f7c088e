import { EVENT_RESOURCE_NAMES, RESOURCE_KINDS, RESOURCE_NAMES, type ResourceName } from '@lcm/contract/resource-kinds'
import type { ChangeHint, ChangeKeys } from '@lcm/coordination/change-keys'
import type { HostedService, Logger } from '@lcm/runtime'
import type { Change } from '@lcm/store/store'
import type { Api } from '../api-context.ts'
import { collectionOf, PUBLISHED } from '../resources.ts'
import { commitSignal } from './feed/follow-changes.ts'

/** Delay until one process publishes what another left pending. */
const SWEEP_MS = 2_000
const BATCH = 64
const RETRY_MS = 1_000

/**
 * Publishes a change key for every commit, for controllers and other replicas. The commit itself flags what is pending, and
 * any process may publish it: publishing twice changes nothing.
 */
export function announcer(api: Api, keys: ChangeKeys, log: Logger): HostedService {
  const resources = new Map(publishedResources(api).map(each => [each.kind, each]))

  async function announcePending(): Promise<void> {
    for (;;) {
      const pending = await api.store.announcements.pending(BATCH)
      const done = await Promise.all(pending.map(change => publish(resources.get(change.kind), keys, change)))
      await api.store.announcements.done(done.filter(change => change !== null))
      if (pending.length < BATCH) return
    }
  }

  /** Restores all keys of a rebuilt etcd, or of a process that just started. Commits meanwhile don't wait. */
  async function announceAll(resource: PublishedResource, signal: AbortSignal): Promise<void> {
    const { entries } = await keys.source(resource.keyPrefix).list(signal)
    const published = new Map(entries.map(({ key, hint }) => [key, hint.version]))
    for (let after = ''; !signal.aborted; ) {
      const page = await resource.list(after, BATCH)
      const outdated = page.filter(({ id, version }) => version > (published.get(resource.keyPrefix + id) ?? 0))
      await Promise.all(outdated.map(hint => keys.publish(resource.keyPrefix + hint.id, hint)))
      await announcePending()
      const last = page.at(-1)
      if (last === undefined || page.length < BATCH) return
      after = last.id
    }
  }

  async function follow(signal: AbortSignal): Promise<void> {
    const commits = commitSignal(api.store.announcements.onCommit, { clock: api.clock, signal })
    try {
      await announcePending()
      for (const resource of resources.values()) await announceAll(resource, signal)
      while (!signal.aborted) {
        await announcePending()
        await commits.wait(SWEEP_MS)
      }
    } finally {
      commits.close()
    }
  }

  return {
    name: 'announcer',
    async run(signal) {
      while (!signal.aborted) {
        try {
          await follow(signal)
        } catch (err) {
          log.error({ err }, 'publishing changes failed; retrying')
          await api.clock.sleep(RETRY_MS, signal)
        }
      }
    },
  }
}

/** Returns the published change; null when a later change will be published. */
async function publish(
  resource: PublishedResource | undefined,
  keys: ChangeKeys,
  change: Change,
): Promise<Change | null> {
  if (resource === undefined) return change
  const key = resource.keyPrefix + change.id
  if (change.deleted) {
    await keys.remove(key, change.version)
    return change
  }
  const hint = await resource.get(change.id)
  if (hint === null) return null
  // The newest version is published, which may be newer than the flagged one.
  await keys.publish(key, hint)
  return { ...change, version: hint.version }
}

/** Change keys of one kind of resource, and the hints that belong there. */
interface PublishedResource {
  readonly kind: string
  readonly keyPrefix: string
  get(id: string): Promise<ChangeHint | null>
  list(after: string, limit: number): Promise<readonly ChangeHint[]>
}

const publishedResources = (api: Api): readonly PublishedResource[] =>
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
