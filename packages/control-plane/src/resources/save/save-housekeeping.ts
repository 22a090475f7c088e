import { type Instant, toInstant } from '@lcm/domain/instant'
import { refusedSaves } from '@lcm/domain/save/restore'
import { type RetainedSave, type Retention, savesToRemove } from '@lcm/domain/save/save-retention'
import { isFinal } from '@lcm/domain/session/lablet-session'
import type { Api } from '../../api-context.ts'
import type { StoredSave } from '../../internal-documents.ts'
import { nullOnConflict } from '../../system-actor.ts'
import { changeDocument } from '../change-document.ts'
import { makeId } from '../ids.ts'
import { listCreatedBefore, pagesOf } from '../list-documents.ts'
import { currentSettings } from '../settings/queries.ts'
import { removeSave, sessionThatNeeds } from './delete-save.ts'

/** Writes and blobs of one round; the next round continues. 10,000 sessions make 1,000 saves a minute. */
const WRITES_MAX = 2_000
const BLOBS_MAX = 200
/** Longer than any request takes: its record may still come. */
const UNRECORDED_MS_MAX = 3_600_000
const DAY_MS = 86_400_000

/** Removes the saves that are not kept any longer, and content that a crash left without a record. Any replica may run it. */
export function maintainSaves(api: Api): (signal: AbortSignal) => Promise<void> {
  let lastBlob = ''
  return async signal => {
    const rules = await currentSettings(api)
    const budget = { writes: WRITES_MAX, signal }
    await retainOpen(api, rules, budget)
    await removeExpired(api, rules, budget)
    if (!signal.aborted) lastBlob = await removeUnrecorded(api, lastBlob)
  }
}

type Rules = Retention['rules']

interface Budget {
  writes: number
  readonly signal: AbortSignal
}

const isSpent = ({ writes, signal }: Budget): boolean => writes <= 0 || signal.aborted

const SESSIONS_AT_ONCE = 100
/** Thousands of reads in a row would keep requests waiting. */
const letOthersIn = ({ clock }: Api): Promise<void> => clock.sleep(0)

/** Saves of open sessions, and of those whose end they don't know yet. */
async function retainOpen(api: Api, rules: Rules, budget: Budget): Promise<void> {
  const bySession = new Map<string, StoredSave[]>()
  for await (const page of pagesOf(api.saves, { where: { is_open: 'yes' } })) {
    for (const save of page) bySession.set(save.session_id, [...(bySession.get(save.session_id) ?? []), save])
    await letOthersIn(api)
  }
  let checked = 0
  for (const [sessionId, saves] of bySession) {
    if (isSpent(budget)) return
    checked += 1
    if (checked % SESSIONS_AT_ONCE === 0) await letOthersIn(api)
    const session = await api.sessions.get(sessionId)
    const passedOver = new Set(session === null ? [] : refusedSaves(session).keys())
    if (session !== null && !isFinal(session.status)) {
      await removeFrom(api, { saves, passedOver, endedAt: null, rules }, budget)
      continue
    }
    const endedAt = session?.entered_status_at ?? toInstant(api.clock.now())
    const removed = await removeFrom(api, { saves, passedOver, endedAt, rules }, budget)
    for (const save of saves) if (!removed.has(save.id)) await close(api, save, endedAt, budget)
  }
}

/** From now on the save doesn't need the record of its session. */
async function close(api: Api, { id }: StoredSave, endedAt: Instant, budget: Budget): Promise<void> {
  if (isSpent(budget)) return
  budget.writes -= 1
  const target = { collection: api.saves, id, noun: 'save' }
  const closed = changeDocument(target, api.clock, null, save =>
    save.session_ended_at === null ? { document: { ...save, session_ended_at: endedAt }, entries: [] } : null,
  )
  await nullOnConflict(closed)
}

async function removeExpired(api: Api, rules: Rules, budget: Budget): Promise<void> {
  const before = toInstant(api.clock.now() - rules.save_retention_days * DAY_MS)
  for (const save of await listCreatedBefore(api.saves, before, { where: { is_open: 'no' } })) {
    if (isSpent(budget)) return
    await removeFrom(api, { saves: [save], passedOver: new Set(), endedAt: save.session_ended_at, rules }, budget)
  }
}

interface Group {
  /** Of one session. */
  readonly saves: readonly StoredSave[]
  readonly passedOver: ReadonlySet<string>
  readonly endedAt: Instant | null
  readonly rules: Rules
}

/** Returns the ids of those that go, whether this round removes them or a later one. */
async function removeFrom(
  api: Api,
  { saves, passedOver, endedAt, rules }: Group,
  budget: Budget,
): Promise<ReadonlySet<string>> {
  const byId = new Map(saves.map(save => [save.id, save]))
  const needed = new Set<string>()
  const decide = (isNeeded: (id: string) => boolean): RetainedSave[] =>
    savesToRemove(
      saves.map(({ id, number }) => ({ id, number, session_ended_at: endedAt })),
      { rules, isNeeded, isPassedOver: id => passedOver.has(id), nowMs: api.clock.now() },
    )
  for (const { id } of decide(() => false)) {
    const save = byId.get(id)
    if (save !== undefined && (await sessionThatNeeds(api, save)) !== null) needed.add(id)
  }
  const going = decide(id => needed.has(id))
  for (const { id } of going) {
    const save = byId.get(id)
    if (save === undefined || isSpent(budget)) continue
    budget.writes -= 1
    await letOthersIn(api)
    // A booking from this save at the same time has changed it, so it stays.
    await removeSave(api, save)
  }
  return new Set(going.map(({ id }) => id))
}

/** Checks the next blobs and returns the last one, or none to begin again. Ids begin with the time of their creation. */
async function removeUnrecorded(api: Api, after: string): Promise<string> {
  const recent = makeId('sv', api.clock.now() - UNRECORDED_MS_MAX, new Uint8Array())
  const ids = await api.store.blobs.ids({ after, limit: BLOBS_MAX })
  for (const id of ids) if (id < recent && (await api.saves.get(id)) === null) await api.store.blobs.remove(id)
  const last = ids.at(-1)
  return last === undefined || last >= recent ? '' : last
}
