import { FOLD_MS, type KnownSubject, seen } from '@lcm/domain/notification/decide-notifications'
import {
  isNotified,
  type Observed,
  observedLeak,
  observedSession,
  observedWarning,
  observedWorker,
  subjectKey,
} from '@lcm/domain/notification/notice'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Change } from '@lcm/store/store'
import type { Api } from '../../api-context.ts'
import { RESOURCES } from '../../resources.ts'
import { fleetWarnings } from '../fleet/fleet-warnings.ts'
import { listAll } from '../list-documents.ts'

const WARNINGS_MS = 60_000

/** What notifications can be about, kept up to date by the feed. */
export interface KnownSubjects {
  /** Reads everything that people may still have to hear of, so that a reader that missed changes misses no news. */
  readAll(): Promise<void>
  /** Reads one changed resource. */
  read(change: Change): Promise<void>
  readLeaks(): Promise<void>
  /** Reads warnings about the fleet, once a minute at most: they count everything that is booked. */
  readWarnings(): Promise<void>
  all(): Iterable<KnownSubject>
  /** Forgets what is over and was sent. */
  forgetOver(): void
}

export function knownSubjects(api: Api): KnownSubjects {
  const subjects = new Map<string, KnownSubject>()
  const titleOf = titlesOf(api)
  let warningsAtMs = Number.NEGATIVE_INFINITY

  function note(observed: Observed): void {
    const key = subjectKey(observed.subject)
    subjects.set(key, seen(subjects.get(key), observed, api.clock.now()))
  }

  async function observe(kind: string, id: string): Promise<Observed | null> {
    if (kind === 'worker') {
      const worker = await api.workers.get(id)
      return worker && observedWorker(worker)
    }
    const session = await api.sessions.get(id)
    return session && observedSession(session, await titleOf(session))
  }

  return {
    async readAll() {
      subjects.clear()
      for (const where of [{ is_over: 'no' }, { was_lost: 'yes' }])
        for (const session of await listAll(api.sessions, { where }))
          note(observedSession(session, await titleOf(session)))
      for (const worker of await listAll(api.workers, { whereNot: { status: 'TERMINATED' } }))
        note(observedWorker(worker))
    },
    async read({ kind, id }) {
      if (kind !== RESOURCES.sessions.name && kind !== RESOURCES.workers.name) return
      const observed = await observe(kind, id)
      if (observed === null) subjects.delete(`${kind}:${id}`)
      else note(observed)
    },
    async readLeaks() {
      for (const leak of await listAll(api.leaks))
        if (leak.resolved_at === null || subjects.has(`license_leak:${leak.id}`)) note(observedLeak(leak))
    },
    async readWarnings() {
      if (api.clock.monotonic() - warningsAtMs < WARNINGS_MS) return
      warningsAtMs = api.clock.monotonic()
      const { at, items: all } = await fleetWarnings(api)
      const items = all.filter(isNotified)
      for (const warning of items) note(observedWarning(warning.id, warning, at))
      const ids = new Set(items.map(({ id }) => id))
      for (const { subject } of [...subjects.values()])
        if (subject.kind === 'fleet' && !ids.has(subject.id)) note(observedWarning(subject.id, null, at))
    },
    all: () => subjects.values(),
    forgetOver() {
      for (const [key, { isOver, notices }] of subjects)
        if (isOver && notices.every(({ seenAtMs }) => seenAtMs + FOLD_MS <= api.clock.now())) subjects.delete(key)
    },
  }
}

/** The titles of definitions, which people know labs by. */
function titlesOf(api: Api): (session: LabletSession) => Promise<string> {
  const titles = new Map<string, string>()
  return async ({ definition: { id, name } }) => {
    const known = titles.get(id)
    if (known !== undefined) return known
    const title = (await api.definitions.get(id))?.title ?? ''
    const shown = title === '' ? name : title
    titles.set(id, shown)
    return shown
  }
}
