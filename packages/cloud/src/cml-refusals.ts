import { toInstant } from '@lcm/domain/instant'
import {
  CML_PARTS,
  type CmlAccess,
  type CmlPart,
  type CmlRefusal,
  isFault,
  refusalWords,
} from '@lcm/domain/worker/cml-access'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { type CmlLogin, FIND_CREDENTIALS, LOGIN_ACTIONS } from './cml-access.ts'
import type { CmlLogins } from './cml-logins.ts'
import { CloudError, type CloudErrorClass } from './errors.ts'

/** No answer to rely on: it proves neither a refusal nor that CML accepts us. */
const SAYS_NOTHING: readonly CloudErrorClass[] = ['transient', 'throttled']
/** What a server's words may take up in a record. */
const WORDS_MAX = 300
/** So many workers are named in one problem. */
const NAMES_MAX = 3

/** The part that this error refuses for good, when `asked` was called; null where CML may accept it next time. */
export function refusedPart({ errorClass, action }: CloudError, asked: CmlPart): CmlPart | null {
  if (errorClass !== 'auth' && errorClass !== 'invalid') return null
  if (action === FIND_CREDENTIALS) return 'credentials'
  return LOGIN_ACTIONS.includes(action) ? 'login' : asked
}

export interface CmlAccessChange {
  readonly worker: Worker
  readonly part: CmlPart
  /** Null: CML accepts it again, or LCM does not need it any more. */
  readonly refusal: CmlRefusal | null
}

/**
 * What the CML of each worker has refused. A refusal is not silence: CML answers, and only a person can change the answer. It
 * belongs to the credentials it was given for. Memory only: a new leader asks again.
 */
export interface CmlRefusals {
  /** Remembers which worker a login is for, and whether there are credentials at all. */
  watchLogins(logins: CmlLogins): CmlLogins
  /** Makes the call, and remembers whether CML accepted it. */
  watch<Answer>(login: CmlLogin, part: CmlPart, call: () => Promise<Answer>): Promise<Answer>
  /** What an answer showed: in these words that the part is missing; null that it is there. */
  showed(login: CmlLogin, part: CmlPart, missing: string | null): void
  /** LCM does not ask for this part any more, so that it is refused says nothing. */
  unneeded(worker: Worker, part: CmlPart): void
  accessTo(worker: Worker): CmlAccess
  /** Whether its credentials have changed since CML refused something: then it should be asked at once. */
  isOutdated(worker: Worker): boolean
  /** How many workers refuse each part. */
  counts(): ReadonlyMap<CmlPart, number>
  /** One sentence for each part that CML servers refuse. */
  problems(): readonly string[]
  forget(workerId: string): void
  clear(): void
}

interface Entry {
  worker: Worker
  /** The secret that the credentials came from; null for those of the fleet. */
  ref: string | null
  readonly parts: Map<CmlPart, 'accepted' | CmlRefusal>
}

const refOf = ({ secret_refs }: Worker): string | null => secret_refs.cml_login ?? null

export function cmlRefusals(clock: Pick<Clock, 'now'>, onChange: (change: CmlAccessChange) => void): CmlRefusals {
  const entries = new Map<string, Entry>()
  const holders = new WeakMap<CmlLogin, { readonly entry: Entry; readonly ref: string | null }>()

  const entryOf = (worker: Worker): Entry => entryIn(entries, worker)
  function note(entry: Entry, part: CmlPart, words: string | null): void {
    const wasRefused = (entry.parts.get(part) ?? 'accepted') !== 'accepted'
    if (words !== null && wasRefused) return
    const refusal = words === null ? null : { message: words.slice(0, WORDS_MAX), sinceMs: clock.now() }
    entry.parts.set(part, refusal ?? 'accepted')
    if (refusal !== null || wasRefused) onChange({ worker: entry.worker, part, refusal })
  }

  /** Null where the credentials have changed since, or the worker was forgotten. */
  function entryFor(login: CmlLogin): Entry | null {
    const { entry, ref } = holders.get(login) ?? {}
    return entry !== undefined && ref === entry.ref && entries.get(entry.worker.id) === entry ? entry : null
  }

  function heard(login: CmlLogin, asked: CmlPart, error: CloudError | null): void {
    const entry = entryFor(login)
    if (entry === null || (error !== null && SAYS_NOTHING.includes(error.errorClass))) return
    const refused = error && refusedPart(error, asked)
    if (refused !== 'login') note(entry, 'login', null)
    note(entry, refused ?? asked, refused && (error?.words ?? null))
  }

  return {
    watchLogins: logins => ({
      async of(worker, url, signal) {
        try {
          const login = await logins.of(worker, url, signal)
          const entry = entryOf(worker)
          holders.set(login, { entry, ref: refOf(worker) })
          note(entry, 'credentials', null)
          return login
        } catch (error) {
          if (error instanceof CloudError && error.errorClass === 'auth')
            note(entryOf(worker), 'credentials', error.words)
          throw error
        }
      },
      forget: logins.forget,
    }),
    async watch(login, part, call) {
      try {
        const answer = await call()
        heard(login, part, null)
        return answer
      } catch (error) {
        if (error instanceof CloudError) heard(login, part, error)
        throw error
      }
    },
    showed(login, part, missing) {
      const entry = entryFor(login)
      if (entry !== null) note(entry, part, missing)
    },
    unneeded: (worker, part) => note(entryOf(worker), part, null),
    accessTo: worker => Object.fromEntries(entries.get(worker.id)?.parts ?? []),
    isOutdated(worker) {
      const entry = entries.get(worker.id)
      return entry !== undefined && entry.ref !== refOf(worker) && refusedOf(entry).length > 0
    },
    counts: () => new Map(CML_PARTS.map(part => [part, refusing(entries.values(), part).length])),
    problems: () => problemsOf(entries),
    forget: workerId => void entries.delete(workerId),
    clear: () => entries.clear(),
  }
}

function entryIn(entries: Map<string, Entry>, worker: Worker): Entry {
  const entry = entries.get(worker.id) ?? { worker, ref: refOf(worker), parts: new Map() }
  entries.set(worker.id, entry)
  // A caller may still hold the worker as it was before its credentials changed.
  if (worker.version < entry.worker.version) return entry
  entry.worker = worker
  entry.ref = refOf(worker)
  return entry
}

const refusedOf = ({ parts }: Entry): readonly CmlPart[] =>
  CML_PARTS.filter(part => (parts.get(part) ?? 'accepted') !== 'accepted')

const refusing = (entries: Iterable<Entry>, part: CmlPart): readonly Entry[] =>
  [...entries].filter(entry => refusedOf(entry).includes(part))

/** What a person has not set up is no fault of a service: that is said of the worker alone. */
function problemsOf(entries: ReadonlyMap<string, Entry>): readonly string[] {
  return CML_PARTS.filter(isFault).flatMap(part => {
    const all = refusing(entries.values(), part)
    const [first] = all
    if (first === undefined) return []
    const sinceMs = Math.min(...all.map(({ parts }) => sinceOf(parts.get(part))))
    const names = all.slice(0, NAMES_MAX).map(({ worker }) => worker.name)
    const more = all.length > NAMES_MAX ? ` and ${all.length - NAMES_MAX} more` : ''
    const next = `\`lcm why worker ${first.worker.id}\` has the fix`
    return [`${refusalWords(part)} on ${names.join(', ')}${more} since ${toInstant(sinceMs)}: ${next}`]
  })
}

const sinceOf = (said: 'accepted' | CmlRefusal | undefined): number =>
  said === undefined || said === 'accepted' ? Number.POSITIVE_INFINITY : said.sinceMs
