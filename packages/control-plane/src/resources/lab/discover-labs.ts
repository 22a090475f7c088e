import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { toInstant, toMs } from '@lcm/domain/instant'
import { isOldNews, type LabRecord, type LabScan, statusOfLab, statusOfMissing } from '@lcm/domain/lab/lab-record'
import { reason } from '@lcm/domain/reason'
import type { Api, Request } from '../../api-context.ts'
import { newId } from '../ids.ts'
import { transitionEntry } from '../journal/entries.ts'
import { listAll } from '../list-documents.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { isPlacedOn } from '../session/change-session.ts'
import { changeWorker } from '../worker/change-worker.ts'
import { findWorker } from '../worker/queries.ts'
import { EMPTY_LAB } from './bind-lab-to-session.ts'
import { changeLab } from './change-lab.ts'
import { isLabGone } from './is-lab-usable.ts'
import { deleteIfSuperseded, isOwnLab } from './lab-cleanup.ts'
import { countLabs } from './queries.ts'
import { cleanUpAfterLab } from './report-lab.ts'

type DiscoverRequest = Request<object, unknown, BodyOf<'discoverLabs'>>
type ScannedLab = DiscoverRequest['body']['labs'][number]

/** Interval at which an unchanged lab is written. */
const SEEN_MS = 3_600_000

/** Records one scan of all labs of a worker. Only a complete scan says that a lab is missing. */
export async function discoverLabs(api: Api, request: DiscoverRequest): Promise<AnswerOf<'discoverLabs'>> {
  const { worker_id, labs, began_at, is_complete } = request.body
  await findWorker(api, worker_id)
  const counts = { created: 0, updated: 0, orphaned: 0 }
  const known = await listAll(api.labs, { where: { worker_id } })
  const byLabId = new Map(known.flatMap(lab => (lab.lab_id === null ? [] : [[lab.lab_id, lab]])))
  // Labs that were about to be imported, without a known id.
  const byTitle = new Map(known.flatMap(lab => (lab.lab_id === null && !isLabGone(lab) ? [[lab.title, lab]] : [])))
  const seen = new Set<string>()
  for (const scanned of labs) {
    const lab = byLabId.get(scanned.lab_id) ?? byTitle.get(scanned.title)
    if (lab === undefined) counts.created += await recordFound(api, request, scanned)
    else {
      seen.add(lab.id)
      counts.updated += await recordSeen(api, request, lab, scanned)
    }
  }
  for (const lab of known) {
    const scan = { began_at, is_complete, isSeen: seen.has(lab.id), isAwaited: false }
    if (statusOfMissing(lab, scan) !== null) counts.orphaned += await recordMissing(api, request, lab, scan)
  }
  await countLabs(api, worker_id)
  if (is_complete) await clearRefreshRequest(api, request)
  return counts
}

/** Clears the refresh request of this scan. A request after its start waits for the next scan. */
async function clearRefreshRequest(api: Api, request: DiscoverRequest): Promise<void> {
  const { worker_id, began_at } = request.body
  const writer = { ...request, params: { id: worker_id }, ifMatch: null, once: null }
  await changeWorker(api, writer, worker => {
    const requestedAt = worker.labs_refresh_requested_at
    if (requestedAt === null || requestedAt >= began_at) return null
    return { worker: { ...worker, labs_refresh_requested_at: null, fence: raiseDocumentFence(worker, request) } }
  })
}

async function recordFound(api: Api, { body, actor, fence }: DiscoverRequest, scanned: ScannedLab): Promise<number> {
  const now = toInstant(api.clock.now())
  const lab: LabRecord = {
    ...EMPTY_LAB,
    id: newId(api, 'lr'),
    created_at: now,
    updated_at: now,
    worker_id: body.worker_id,
    source: 'DISCOVERY',
    definition_id: null,
    session_id: null,
    ...factsOf(scanned, null),
    first_seen_at: now,
    last_seen_at: body.began_at,
    fence: actor.service === null || fence === null ? {} : { [actor.service]: fence },
  }
  const move = { from: null, to: lab.status, at: now, because: reason('lab_discovered') }
  return (await api.labs.insert(lab, [transitionEntry(move, actor.name)])).ok ? 1 : 0
}

const factsOf = ({ state, nodes, ...scanned }: ScannedLab, before: LabRecord['status'] | null) => ({
  ...scanned,
  ...(nodes === undefined ? {} : { nodes }),
  raw_state: state,
  status: statusOfLab(state, before),
})

async function recordSeen(api: Api, request: DiscoverRequest, lab: LabRecord, scanned: ScannedLab): Promise<number> {
  const { began_at } = request.body
  if (isOldNews(request.body, lab)) return 0
  let isChanged = false
  const target = { ...request, params: { id: lab.id }, ifMatch: null }
  const isOwn = await isOwnLab(api, lab)
  const changed = await changeLab(api, target, (current, now) => {
    isChanged = false
    if (isOldNews(request.body, current)) return null
    const facts = factsOf(scanned, current.status)
    const next = deleteIfSuperseded({ ...current, ...facts }, isOwn, now)
    isChanged = JSON.stringify(next) !== JSON.stringify(current)
    if (!isChanged && toMs(began_at) - toMs(current.last_seen_at) < SEEN_MS) return null
    return {
      lab: { ...next, last_seen_at: began_at, fence: raiseDocumentFence(current, request) },
      because: reason('lab_seen'),
    }
  })
  if (isChanged) await cleanUpAfterLab(api, changed)
  return isChanged ? 1 : 0
}

async function recordMissing(api: Api, request: DiscoverRequest, lab: LabRecord, scan: LabScan): Promise<number> {
  const isAwaited = lab.lab_id === null && (await isAboutToBeImported(api, lab))
  let isMarked = false
  const changed = await changeLab(api, { ...request, params: { id: lab.id }, ifMatch: null }, current => {
    const status = statusOfMissing(current, { ...scan, isAwaited })
    isMarked = status !== null
    if (status === null) return null
    const gone = { ...current, status, pending_action: null, fence: raiseDocumentFence(current, request) }
    return { lab: gone, because: reason('lab_not_in_scan') }
  })
  if (isMarked) await cleanUpAfterLab(api, changed)
  return isMarked ? 1 : 0
}

async function isAboutToBeImported(api: Api, lab: LabRecord): Promise<boolean> {
  const session = lab.session_id === null ? null : await api.sessions.get(lab.session_id)
  return isPlacedOn(session, lab.worker_id)
}
