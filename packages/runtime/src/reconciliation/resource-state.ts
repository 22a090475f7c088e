/** Outcome of a reconcile. A thrown error counts as `retry`. All but `retry` reset the retry count. */
export type ReconciliationResult =
  | { readonly status: 'SUCCESS'; readonly message?: string }
  | { readonly status: 'REQUEUE'; readonly message: string; readonly afterMs: number }
  | { readonly status: 'RETRY'; readonly message: string; readonly error?: unknown }
  | { readonly status: 'SKIP'; readonly message: string; readonly isGone?: true }

export const success = (message?: string): ReconciliationResult =>
  message === undefined ? { status: 'SUCCESS' } : { status: 'SUCCESS', message }
/** Waiting, not failing: run again after `afterMs`, without backoff. */
export const requeue = (message: string, afterMs: number): ReconciliationResult => ({
  status: 'REQUEUE',
  message,
  afterMs,
})
/** Failed for now: run again after the backoff. */
export const retry = (message: string, error?: unknown): ReconciliationResult => ({ status: 'RETRY', message, error })
export const skip = (message: string): ReconciliationResult => ({ status: 'SKIP', message })
/** The resource was deleted: a skip after which the loop forgets the key. */
export const gone = (message: string): ReconciliationResult => ({ status: 'SKIP', message, isGone: true })

export type ResourceStatus = 'PENDING' | 'IN_PROGRESS' | 'SUCCESS' | 'FAILED'

/** State of a key for the length of a term. Times are wall-clock milliseconds. */
export interface ResourceState {
  readonly resource_id: string
  readonly status: ResourceStatus
  readonly retry_count: number
  readonly next_retry_at: number | null
  /** The last success. */
  readonly last_reconciled_at: number | null
}

export interface ResourceStates {
  readonly size: number
  /** Keys whose last outcome was a retry. */
  readonly retrying: number
  read(key: string): ResourceState | undefined
  begin(key: string): Known
  /**
   * Records an outcome, unless the key was forgotten in the meantime. Returns whether to log it: a failure that no
   * other key has now, or another message than the key had before.
   */
  settle(known: Known, result: ReconciliationResult, nowMs: number, retryAfterMs?: number): boolean
  forget(key: string): void
  openListing(): StateListing
}

/** One listing of everything. */
export interface StateListing {
  mark(key: string): void
  /** Forgets every key that was known before and is not in the list; returns how many. Only for a complete list. */
  purge(): number
}

/** Small and flat: there may be a million of them. Zero means never. */
export interface Known {
  readonly key: string
  isForgotten: boolean
  status: ResourceStatus
  /** Failures in a row. */
  retryCount: number
  nextRetryAt: number
  lastReconciledAt: number
  /** The newest listing that held the key, or that was under way when the key was first seen. */
  listedIn: number
  /** Of the last outcome that was no failure. */
  lastMessage: string | undefined
  /** Of the failures that it has now. */
  failure: string | undefined
  isFailureLogged: boolean
}

interface Table {
  readonly known: Map<string, Known>
  readonly retrying: Set<string>
  /** Number of keys that fail with each message: an outage is one message of many keys. */
  readonly failures: Map<string, number>
  listings: number
}

export function resourceStates(): ResourceStates {
  const table: Table = { known: new Map(), retrying: new Set(), failures: new Map(), listings: 0 }
  return {
    get size() {
      return table.known.size
    },
    get retrying() {
      return table.retrying.size
    },
    read: key => read(table, key),
    begin: key => begin(table, key),
    settle: (known, result, nowMs, retryAfterMs = 0) => {
      const isNew = isWorthALine(table, known, result)
      if (known.isForgotten) return isNew
      if (result.status === 'RETRY') noteFailure(table, known, nowMs + retryAfterMs)
      else noteRest(table, known, result.status === 'SUCCESS' ? nowMs : undefined)
      if (result.status === 'SKIP' && result.isGone) forget(table, known.key)
      return isNew
    },
    forget: key => forget(table, key),
    openListing: () => openListing(table),
  }
}

function isWorthALine(table: Table, known: Known, result: ReconciliationResult): boolean {
  if (result.status !== 'RETRY') {
    const isNew = known.isFailureLogged || result.message !== known.lastMessage
    setFailure(table, known, undefined)
    known.isFailureLogged = false
    known.lastMessage = result.message
    return isNew
  }
  const isNew = known.failure !== result.message && !table.failures.has(result.message)
  known.isFailureLogged ||= isNew
  if (!known.isForgotten) setFailure(table, known, result.message)
  return isNew
}

function setFailure({ failures }: Table, known: Known, next: string | undefined): void {
  if (known.failure === next) return
  if (known.failure !== undefined) {
    const others = (failures.get(known.failure) ?? 1) - 1
    if (others === 0) failures.delete(known.failure)
    else failures.set(known.failure, others)
  }
  if (next !== undefined) failures.set(next, (failures.get(next) ?? 0) + 1)
  known.failure = next
}

function read(table: Table, key: string): ResourceState | undefined {
  const known = table.known.get(key)
  return (
    known && {
      resource_id: key,
      status: known.status,
      retry_count: known.retryCount,
      next_retry_at: known.nextRetryAt || null,
      last_reconciled_at: known.lastReconciledAt || null,
    }
  )
}

function begin(table: Table, key: string): Known {
  const known = table.known.get(key) ?? firstSeen(table, key)
  known.status = 'IN_PROGRESS'
  return known
}

function firstSeen(table: Table, key: string): Known {
  const known: Known = {
    key,
    isForgotten: false,
    status: 'PENDING',
    retryCount: 0,
    nextRetryAt: 0,
    lastReconciledAt: 0,
    listedIn: table.listings,
    lastMessage: undefined,
    failure: undefined,
    isFailureLogged: false,
  }
  table.known.set(key, known)
  return known
}

function noteFailure(table: Table, known: Known, nextRetryAt: number): void {
  known.status = 'FAILED'
  known.retryCount += 1
  known.nextRetryAt = nextRetryAt
  table.retrying.add(known.key)
}

function noteRest(table: Table, known: Known, reconciledAt: number | undefined): void {
  if (known.retryCount > 0) table.retrying.delete(known.key)
  known.retryCount = 0
  known.nextRetryAt = 0
  known.status = reconciledAt === undefined ? 'PENDING' : 'SUCCESS'
  if (reconciledAt !== undefined) known.lastReconciledAt = reconciledAt
}

function forget(table: Table, key: string): void {
  const known = table.known.get(key)
  if (known) {
    known.isForgotten = true
    setFailure(table, known, undefined)
  }
  table.known.delete(key)
  table.retrying.delete(key)
}

function openListing(table: Table): StateListing {
  table.listings += 1
  const listing = table.listings
  return {
    mark(key) {
      const known = table.known.get(key)
      if (known) known.listedIn = Math.max(known.listedIn, listing)
    },
    purge() {
      const before = table.known.size
      for (const [key, known] of table.known) if (isGone(known, listing)) forget(table, key)
      return before - table.known.size
    },
  }
}

/** An active key is left alone: its reconcile notices by itself. */
const isGone = (known: Known, listing: number) => known.listedIn < listing && known.status !== 'IN_PROGRESS'
