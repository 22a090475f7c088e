import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { FOLD_MS, type KnownSubject, seen } from '@lcm/domain/notification/decide-notifications'
import { leakNotices, type Subject, sessionNotices, workerNotices } from '@lcm/domain/notification/notice'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Change } from '@lcm/store/store'
import type { Api } from '../../api-context.ts'
import { RESOURCES } from '../../resources.ts'
import { listAll } from '../list-documents.ts'

type Observed = Omit<Parameters<typeof seen>[1], 'subject'> & { readonly subject: Subject }

/** What notifications can be about, kept up to date by the feed. */
export interface KnownSubjects {
  /** Reads everything that is not over. */
  readAll(): Promise<void>
  /** Reads one changed resource; `before` is the position before the change. */
  read(change: Change, before: string): Promise<void>
  readLeaks(): Promise<void>
  all(): Iterable<KnownSubject>
  /** Forgets what is over and was told. */
  forgetOver(): void
  /** The position to continue after a restart without missing anything; null for the newest. */
  heldPosition(): string | null
}

export function knownSubjects(api: Api): KnownSubjects {
  const subjects = new Map<string, KnownSubject>()
  /** Positions before the changes of resources that are over: only the feed names them after a restart. */
  const held = new Map<string, string>()
  const titles = new Map<string, string>()

  function note(key: string, observed: Observed): void {
    subjects.set(key, seen(subjects.get(key), observed, api.clock.now()))
  }

  async function titleOf({ definition }: LabletSession): Promise<string> {
    const known = titles.get(definition.id)
    if (known !== undefined) return known
    const title = (await api.definitions.get(definition.id))?.title ?? ''
    const shown = title === '' ? definition.name : title
    titles.set(definition.id, shown)
    return shown
  }

  async function noteSession(session: LabletSession): Promise<void> {
    const lab = await titleOf(session)
    const { id, definition, owner, owner_name, timeslot } = session
    const subject = {
      kind: 'session',
      id,
      lab,
      definition: definition.name,
      owner,
      owner_name,
      end: timeslot.end,
    } as const
    note(`session:${id}`, { subject, notices: sessionNotices(session, lab), isOver: isOver(session) })
  }

  function noteWorker(worker: Worker): void {
    const subject = { kind: 'worker', id: worker.id, name: worker.name } as const
    note(`worker:${worker.id}`, { subject, notices: workerNotices(worker), isOver: worker.status === 'TERMINATED' })
  }

  function noteLeak(leak: LicenseLeak): void {
    const subject = { kind: 'license_leak', id: leak.id, worker_name: leak.worker_name } as const
    note(`license_leak:${leak.id}`, { subject, notices: leakNotices(leak), isOver: leak.resolved_at !== null })
  }

  /** Nothing is told of what is gone. */
  function forget(key: string): void {
    subjects.delete(key)
    held.delete(key)
  }

  async function readOne(kind: string, id: string): Promise<void> {
    if (kind === 'worker') {
      const worker = await api.workers.get(id)
      return worker === null ? forget(`worker:${id}`) : noteWorker(worker)
    }
    const session = await api.sessions.get(id)
    return session === null ? forget(`session:${id}`) : noteSession(session)
  }

  return {
    async readAll() {
      subjects.clear()
      for (const session of await listAll(api.sessions, { where: { is_over: 'no' } })) await noteSession(session)
      for (const worker of await listAll(api.workers, { whereNot: { status: 'TERMINATED' } })) noteWorker(worker)
    },
    async read({ kind, id }, before) {
      if (kind !== RESOURCES.sessions.name && kind !== RESOURCES.workers.name) return
      await readOne(kind, id)
      const key = `${kind}:${id}`
      if (subjects.get(key)?.isOver && !held.has(key)) held.set(key, before)
    },
    async readLeaks() {
      for (const leak of await listAll(api.leaks))
        if (leak.resolved_at === null || subjects.has(`license_leak:${leak.id}`)) noteLeak(leak)
    },
    all: () => subjects.values(),
    forgetOver() {
      for (const [key, { isOver, notices }] of subjects)
        if (isOver && notices.every(({ seenAtMs }) => seenAtMs + FOLD_MS <= api.clock.now())) forget(key)
    },
    heldPosition: () => held.values().next().value ?? null,
  }
}

const isOver = ({ status }: LabletSession): boolean =>
  isFinal(status) || status === 'EXPIRED' || status === 'STOPPING' || status === 'STOPPED'
