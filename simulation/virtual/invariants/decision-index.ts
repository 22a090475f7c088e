import { FLEET_SCALING_ID } from '@lcm/domain/fleet/fleet-scaling'
import type { Journal, JournalEntry } from '@lcm/store/store'

const ENTRIES_MAX = 200

/** What the journal says of why the cloud is changed. It is asked before the change: what explains it must be there by then. */
export interface DecisionIndex {
  /** Whether that service has decided on it, and not before `since`. */
  has(service: string, resource: string, since: string): Promise<boolean>
  /** Whether what it is since then follows from the word of a person, which is on record with the same write. */
  isRequestedByUser(resource: string, at: string): Promise<boolean>
  /** Whether a machine that no record stands for was allowed to be given up. */
  isOrphanTermination(machine: string): Promise<boolean>
}

export function decisionIndex(journal: Journal): DecisionIndex {
  return {
    async has(service, resource, since) {
      const query = { streams: ['decision'], subject: resource, from: since, limit: ENTRIES_MAX }
      return (await journal.query(query)).some(entry => fieldOf(entry, 'service') === service)
    },
    async isRequestedByUser(resource, at) {
      const entries = await journal.query({ streams: ['audit'], subject: resource, from: at, limit: ENTRIES_MAX })
      return entries.some(entry => entry.at === at)
    },
    async isOrphanTermination(machine) {
      const subject = `fleet_scaling:${FLEET_SCALING_ID}`
      const entries = await journal.query({ streams: ['audit'], subject, limit: ENTRIES_MAX })
      return entries.some(
        entry => fieldOf(entry, 'action') === 'terminate_orphan' && JSON.stringify(entry.body).includes(`"${machine}"`),
      )
    },
  }
}

const fieldOf = ({ body }: JournalEntry, name: string): unknown =>
  new Map<string, unknown>(Object.entries(body)).get(name)
