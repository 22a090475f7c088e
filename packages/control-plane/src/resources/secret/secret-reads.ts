import type { Actor } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import { boundedMap } from '../../access/rate-limiter.ts'
import type { Api } from '../../api-context.ts'
import { sha256 } from '../../crypto.ts'
import { auditEntry } from '../journal/entries.ts'

const READS_MAX = 10_000
/** Length of the part of an instant that names its hour. */
const HOUR_CHARS = '2026-01-02T03'.length

export interface SecretReads {
  /** Records who reads which secrets of a resource, before they are sent. Null values were not read. */
  record(actor: Actor, resource: string, secrets: Readonly<Record<string, string | null>>): Promise<void>
}

/**
 * Controllers read often, so an actor has one audit entry per resource, set of secrets and hour. Its id says so: replicas write
 * the same entry, and a replica writes it once.
 */
export function secretReads(api: Pick<Api, 'store' | 'clock'>): SecretReads {
  const recorded = boundedMap<string>(READS_MAX)
  return {
    async record(actor, resource, secrets) {
      const names = Object.keys(secrets).filter(name => secrets[name] !== null)
      if (names.length === 0) return
      const at = toInstant(api.clock.now())
      const hour = at.slice(0, HOUR_CHARS)
      const what = sha256(JSON.stringify([actor.id, ...names])).slice(0, 16)
      const key = `${resource}:${what}`
      if (recorded.get(key) === hour) return
      const entry = auditEntry(actor, 'read-secrets', at, { after: { secrets: names } })
      await api.store.journal.append([{ ...entry, id: `${resource}:read-${what}:${hour}`, subject: resource }])
      recorded.set(key, hour)
    },
  }
}
