import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { FOLD_MS, type KnownSubject, seen } from '@lcm/domain/notification/decide-notifications'
import { leakNotices, sessionNotices, sessionSubject, subjectKey, workerNotices } from '@lcm/domain/notification/notice'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Change } from '@lcm/store/store'
import type { Api } from '../../api-context.ts'
import { RESOURCES } from '../../resources.ts'
import { listAll } from '../list-documents.ts'

type Observed = Parameters<typeof seen>[1]

/** What notifications can be about, kept up to date by the feed. */
export interface KnownSubjects {
  /** Reads everything that is not over. */
  readAll(): Promise<void>
  /** Reads one changed resource; `before` is the position before the change. */
  read(change: Change, before: string): Promise<void>
  readLeaks(): Promise<void>
  all(): Iterable<KnownSubject>
  /** Forgets what is over and was sent. */
  forgetOver(): void
  /** The position to continue after a restart without missing anything; null for the newest. */
  heldPosition(): string | null
}

export function knownSubjects(api: Api): KnownSubjects {
  const subjects = new Map<string, KnownSubject>()
  /** Positions before the changes of resources that are over: only the feed names them after a restart. */
  const held = new Map<string, string>()
  const titleOf = titlesOf(api)

  function note(observed: Observed): void {
    const key = subjectKey(observed.subject)
    subjects.set(key, seen(subjects.get(key), observed, api.clock.now()))
  }

  function forget(key: string): void {
    subjects.delete(key)
    held.delete(key)
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
      for (const session of await listAll(api.sessions, { where: { is_over: 'no' } }))
        note(observedSession(session, await titleOf(session)))
      for (const worker of await listAll(api.workers, { whereNot: { status: 'TERMINATED' } }))
        note(observedWorker(worker))
    },
    async read({ kind, id }, before) {
      if (kind !== RESOURCES.sessions.name && kind !== RESOURCES.workers.name) return
      const key = `${kind}:${id}`
      const observed = await observe(kind, id)
      if (observed === null) return forget(key)
      note(observed)
      if (observed.isOver && !held.has(key)) held.set(key, before)
    },
    async readLeaks() {
      for (const leak of await listAll(api.leaks))
        if (leak.resolved_at === null || subjects.has(`license_leak:${leak.id}`)) note(observedLeak(leak))
    },
    all: () => subjects.values(),
    forgetOver() {
      for (const [key, { isOver, notices }] of subjects)
        if (isOver && notices.every(({ seenAtMs }) => seenAtMs + FOLD_MS <= api.clock.now())) forget(key)
    },
    heldPosition: () => held.values().next().value ?? null,
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

const observedSession = (session: LabletSession, lab: string): Observed => ({
  subject: sessionSubject(session, lab),
  notices: sessionNotices(session, lab),
  isOver: isOver(session),
})

const isOver = ({ status }: LabletSession): boolean =>
  isFinal(status) || status === 'EXPIRED' || status === 'STOPPING' || status === 'STOPPED'

const observedWorker = (worker: Worker): Observed => ({
  subject: { kind: 'worker', id: worker.id, name: worker.name },
  notices: workerNotices(worker),
  isOver: worker.status === 'TERMINATED',
})

const observedLeak = (leak: LicenseLeak): Observed => ({
  subject: { kind: 'license_leak', id: leak.id, worker_name: leak.worker_name },
  notices: leakNotices(leak),
  isOver: leak.resolved_at !== null,
})
