import type { BodyOf } from '@lcm/contract/routes'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { auditEntry, STREAMS } from '../journal/entries.ts'
import { changeWorker, type WorkerRequest } from './change-worker.ts'
import { refuseTerminating } from './set-desired-status.ts'

const REFRESH_MS_MIN = 10_000
/** More requests than people make of one worker within that time. */
const RECENT_MAX = 100

/** Requests an observation by each controller, which clears its request. At most every ten seconds, to save calls. */
export async function refreshWorker(api: Api, request: WorkerRequest<BodyOf<'refreshWorker'>>): Promise<Worker> {
  const isTooSoon = await wasRefreshed(api, request.params.id)
  return changeWorker(api, request, (worker, now) => {
    refuseTerminating(worker)
    const last = worker.refresh_requested_at
    if (isTooSoon || (last !== null && toMs(now) - toMs(last) < REFRESH_MS_MIN)) return null
    const entries = [auditEntry(request.actor, 'refresh', now, { reason: request.body.reason })]
    return { worker: { ...worker, refresh_requested_at: now, labs_refresh_requested_at: now }, entries }
  })
}

/** The controller clears the request, so the journal shows when the last one was. */
async function wasRefreshed(api: Api, id: string): Promise<boolean> {
  const from = toInstant(api.clock.now() - REFRESH_MS_MIN + 1)
  const recent = { streams: [STREAMS.audit], subject: `worker:${id}`, from, limit: RECENT_MAX }
  return (await api.store.journal.query(recent)).some(({ body }) => 'action' in body && body.action === 'refresh')
}
