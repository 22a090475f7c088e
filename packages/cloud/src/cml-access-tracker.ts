import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import { isFault } from '@lcm/domain/worker/decision/cml-access'
import { CML_PARTS, type CmlAccess, type CmlPart, type CmlRefusal } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { type CmlLogin, FIND_CREDENTIALS, LOGIN_ACTIONS } from './cml-login.ts'
import type { CmlLoginResolver } from './cml-login-resolver.ts'
import { CloudError, type CloudErrorClass } from './errors.ts'

/** Errors that prove neither a rejection nor that CML accepts us. */
const INCONCLUSIVE: readonly CloudErrorClass[] = ['transient', 'throttled']
/** Longest message stored in a record. */
const MESSAGE_MAX = 300
/** Workers named in one problem. */
const NAMES_MAX = 3

/** The part that this error rejects permanently, when `asked` was called; null when CML may accept it next time. */
export function refusedPart({ errorClass, action }: CloudError, asked: CmlPart): CmlPart | null {
  if (errorClass !== 'auth' && errorClass !== 'invalid') return null
  if (action === FIND_CREDENTIALS) return 'credentials'
  return LOGIN_ACTIONS.includes(action) ? 'login' : asked
}

export interface CmlAccessChange {
  readonly worker: Worker
  readonly part: CmlPart
  /** Null: CML accepts it again, or LCM no longer needs it. */
  readonly refusal: CmlRefusal | null
}

/**
 * Tracks which parts of its API the CML of each worker rejects. A rejection differs from silence: CML responds, and
 * only a person can change the response. It belongs to the credentials that were used. Memory only: a new leader tries
 * again.
 */
export interface CmlAccessTracker {
  /** Tracks which worker a login is for, and whether there are credentials at all. */
  watchLogins(logins: CmlLoginResolver): CmlLoginResolver
  /** Makes the call and records whether CML accepted it. */
  watch<Answer>(login: CmlLogin, part: CmlPart, call: () => Promise<Answer>): Promise<Answer>
  /** Records that a response lacked the part (`missing` says why), or had it (null). */
  report(login: CmlLogin, part: CmlPart, missing: string | null): void
  /** LCM no longer uses this part, so its rejection is obsolete. */
  clearPart(worker: Worker, part: CmlPart): void
  accessTo(worker: Worker): CmlAccess
  /** Whether the credentials have changed since a rejection: then CML should be tried at once. */
  isOutdated(worker: Worker): boolean
  /** Workers that reject each part. */
  counts(): ReadonlyMap<CmlPart, number>
  /** One sentence for each rejected part. */
  problems(): readonly Reason[]
  forget(workerId: string): void
  clear(): void
}

interface Entry {
  worker: Worker
  /** Secret of the credentials; null for the fleet's. */
  ref: string | null
  readonly parts: Map<CmlPart, 'accepted' | CmlRefusal>
}

const refOf = ({ secret_refs }: Worker): string | null => secret_refs.cml_login ?? null

type OnCmlAccessChange = (change: CmlAccessChange) => void

export function cmlAccessTracker(clock: Pick<Clock, 'now'>, onChange: OnCmlAccessChange): CmlAccessTracker {
  const entries = new Map<string, Entry>()
  const counts = refusalCounts()
  const holders = new WeakMap<CmlLogin, { readonly entry: Entry; readonly ref: string | null }>()

  function note(entry: Entry, part: CmlPart, words: string | null): void {
    const wasRefused = (entry.parts.get(part) ?? 'accepted') !== 'accepted'
    if (words !== null && wasRefused) return
    const refusal = words === null ? null : { message: words.slice(0, MESSAGE_MAX), sinceMs: clock.now() }
    entry.parts.set(part, refusal ?? 'accepted')
    if (refusal === null && !wasRefused) return
    if (entries.get(entry.worker.id) === entry) counts.add(refusal === null ? -1 : 1, [part])
    onChange({ worker: entry.worker, part, refusal })
  }

  /** Null when the credentials have changed since, or the worker was forgotten. */
  function entryFor(login: CmlLogin): Entry | null {
    const { entry, ref } = holders.get(login) ?? {}
    return entry !== undefined && ref === entry.ref && entries.get(entry.worker.id) === entry ? entry : null
  }

  function record(login: CmlLogin, asked: CmlPart, error: CloudError | null): void {
    const entry = entryFor(login)
    if (entry === null || (error !== null && INCONCLUSIVE.includes(error.errorClass))) return
    const refused = error && refusedPart(error, asked)
    if (refused !== 'login') note(entry, 'login', null)
    note(entry, refused ?? asked, refused && (error?.words ?? null))
  }

  return {
    watchLogins: logins => ({
      async resolve(worker, url, signal) {
        try {
          const login = await logins.resolve(worker, url, signal)
          const entry = entryIn(entries, worker)
          holders.set(login, { entry, ref: refOf(worker) })
          note(entry, 'credentials', null)
          return login
        } catch (error) {
          if (error instanceof CloudError && error.errorClass === 'auth')
            note(entryIn(entries, worker), 'credentials', error.words)
          throw error
        }
      },
      forget: logins.forget,
    }),
    async watch(login, part, call) {
      try {
        const answer = await call()
        record(login, part, null)
        return answer
      } catch (error) {
        if (error instanceof CloudError) record(login, part, error)
        throw error
      }
    },
    report(login, part, missing) {
      const entry = entryFor(login)
      if (entry !== null) note(entry, part, missing)
    },
    clearPart: (worker, part) => note(entryIn(entries, worker), part, null),
    accessTo: worker => Object.fromEntries(entries.get(worker.id)?.parts ?? []),
    isOutdated: worker => isOutdated(entries.get(worker.id), worker),
    counts: () => counts.byPart,
    problems: () => problemsOf(entries),
    forget: workerId => forget(entries, counts, [workerId]),
    clear: () => forget(entries, counts, [...entries.keys()]),
  }
}

interface RefusalCounts {
  readonly byPart: ReadonlyMap<CmlPart, number>
  add(count: 1 | -1, parts: readonly CmlPart[]): void
}

/**
 * Kept with every change: counting all workers each time would take too long in a large fleet. A caller may still hold the entry
 * of a worker that was forgotten: it does not count.
 */
function refusalCounts(): RefusalCounts {
  const byPart = new Map<CmlPart, number>(CML_PARTS.map(part => [part, 0]))
  return {
    byPart,
    add(count, parts) {
      for (const part of parts) byPart.set(part, (byPart.get(part) ?? 0) + count)
    },
  }
}

function forget(entries: Map<string, Entry>, counts: RefusalCounts, workerIds: readonly string[]): void {
  for (const id of workerIds) {
    const entry = entries.get(id)
    if (entry !== undefined) counts.add(-1, refusedOf(entry))
    entries.delete(id)
  }
}

function entryIn(entries: Map<string, Entry>, worker: Worker): Entry {
  const entry = entries.get(worker.id) ?? { worker, ref: refOf(worker), parts: new Map() }
  entries.set(worker.id, entry)
  // A caller may still hold the worker from before its credentials changed.
  if (worker.version < entry.worker.version) return entry
  entry.worker = worker
  entry.ref = refOf(worker)
  return entry
}

const isOutdated = (entry: Entry | undefined, worker: Worker): boolean =>
  entry !== undefined && entry.ref !== refOf(worker) && refusedOf(entry).length > 0

const refusedOf = ({ parts }: Entry): readonly CmlPart[] =>
  CML_PARTS.filter(part => (parts.get(part) ?? 'accepted') !== 'accepted')

const refusing = (entries: Iterable<Entry>, part: CmlPart): readonly Entry[] =>
  [...entries].filter(({ parts }) => (parts.get(part) ?? 'accepted') !== 'accepted')

/** Missing setup is not a fault of the service: it is reported for the worker only. */
function problemsOf(entries: ReadonlyMap<string, Entry>): readonly Reason[] {
  return CML_PARTS.filter(isFault).flatMap(part => {
    const all = refusing(entries.values(), part)
    const [first] = all
    if (first === undefined) return []
    const sinceMs = Math.min(...all.map(({ parts }) => sinceOf(parts.get(part))))
    const workers = all.slice(0, NAMES_MAX).map(({ worker }) => worker.name)
    const about = { workers, count: all.length, worker_id: first.worker.id, since: toInstant(sinceMs) }
    return [reason('cml_refuses_on_workers', { part, ...about })]
  })
}

const sinceOf = (answer: 'accepted' | CmlRefusal | undefined): number =>
  answer === undefined || answer === 'accepted' ? Number.POSITIVE_INFINITY : answer.sinceMs
