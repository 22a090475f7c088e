/** One AWS call as it came over the wire, for tests and the chaos page. */
export interface JournalEntry {
  readonly at: string
  readonly region: string
  readonly action: string
  readonly client_token: string | null
  readonly instance_ids: readonly string[]
  /** The SDK's own words on retries: `attempt=2; max=5`, and an id that stays the same over them. */
  readonly attempt: string | null
  readonly invocation_id: string | null
  readonly status: number
  readonly code: string | null
}

export interface Journal {
  add(entry: JournalEntry): void
  /** The newest last. */
  last(count: number): readonly JournalEntry[]
}

const ENTRIES_MAX = 1000

export function boundedJournal(): Journal {
  const entries: JournalEntry[] = []
  return {
    add(entry) {
      entries.push(entry)
      // Cutting many at once keeps the average cost of an entry constant.
      if (entries.length > 2 * ENTRIES_MAX) entries.splice(0, ENTRIES_MAX)
    },
    last: count => (count > 0 ? entries.slice(-Math.min(count, ENTRIES_MAX)) : []),
  }
}
