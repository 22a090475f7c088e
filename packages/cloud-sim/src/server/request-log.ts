/** One AWS call as it came over the wire, for tests and the chaos page. */
export interface RequestLogEntry {
  readonly at: string
  readonly region: string
  readonly action: string
  readonly client_token: string | null
  readonly instance_ids: readonly string[]
  /** Retry headers of the SDK: `attempt=2; max=5`, and an id that is constant over retries. */
  readonly attempt: string | null
  readonly invocation_id: string | null
  readonly status: number
  readonly code: string | null
  /** Injected network fault: `lost_answer` took effect, `lost_request` didn't. */
  readonly fault: string | null
}

export interface RequestLogQuery {
  readonly limit: number
  readonly action: string | null
  readonly region: string | null
  readonly instance_id: string | null
  readonly code: string | null
}

export interface RequestLog {
  add(entry: RequestLogEntry): void
  /** The last matching entries, newest last. */
  find(query: RequestLogQuery): readonly RequestLogEntry[]
}

const ENTRIES_MAX = 1000

export function boundedRequestLog(): RequestLog {
  const entries: RequestLogEntry[] = []
  return {
    add(entry) {
      entries.push(entry)
      // Cutting many at once keeps the average cost of an entry constant.
      if (entries.length > 2 * ENTRIES_MAX) entries.splice(0, ENTRIES_MAX)
    },
    find: query => {
      const found = entries.filter(entry => matches(entry, query))
      return query.limit > 0 ? found.slice(-Math.min(query.limit, ENTRIES_MAX)) : []
    },
  }
}

const matches = (entry: RequestLogEntry, { action, region, instance_id, code }: RequestLogQuery): boolean =>
  (action === null || entry.action === action) &&
  (region === null || entry.region === region) &&
  (code === null || entry.code === code) &&
  (instance_id === null || entry.instance_ids.includes(instance_id))
