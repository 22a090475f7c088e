import { FLEET_SCALING_ID } from '@lcm/domain/fleet/fleet-scaling'
import type { Journal, JournalEntry } from '@lcm/store/store'

const ENTRIES_MAX = 200

/** Finds the journal entries that explain a change of the cloud. Queried before the change: they must exist by then. */
export interface DecisionIndex {
  /** Whether that service has recorded a decision since then. */
  has(service: string, resource: string, since: string): Promise<boolean>
  /** Whether a user request is recorded with the same write. */
  isRequestedByUser(resource: string, at: string): Promise<boolean>
  /** Whether the termination of an orphaned machine was permitted. */
  hasOrphanPermit(machine: string): Promise<boolean>
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
    async hasOrphanPermit(machine) {
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
