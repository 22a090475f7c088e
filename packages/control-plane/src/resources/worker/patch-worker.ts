import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { toInstant, toMs } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../http/api-context.ts'
import { auditEntry, STREAMS } from '../journal/entries.ts'
import { changeWorker, type WorkerRequest } from './change-worker.ts'
import { desiredState, refuseTerminating, withDesiredStatus } from './set-desired-status.ts'

const REFRESH_MS_MIN = 10_000
/** More requests than people make of one worker within that time. */
const RECENT_MAX = 100

type Reasoned = WorkerRequest<BodyOf<'refreshWorker'>>

/** Updates editable fields of a worker. Missing fields stay. */
export function patchWorker(api: Api, request: WorkerRequest<BodyOf<'patchWorker'>>): Promise<Worker> {
  const { license, ...plain } = request.body
  return changeWorker(api, request, (worker, now) => {
    const changed = { ...worker, ...plain, license: { ...worker.license, ...license } }
    if (JSON.stringify(changed) === JSON.stringify(worker)) return null
    return { worker: changed, entries: [auditEntry(request.actor, 'patch', now, { before: worker, after: changed })] }
  })
}

/** Requests an observation by each controller, which clears its request. At most every ten seconds, to save calls. */
export async function refreshWorker(api: Api, request: Reasoned): Promise<Worker> {
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

/** Retries with the existing machine, else with a new launch. */
export const retryWorker = (api: Api, request: Reasoned): Promise<Worker> =>
  changeWorker(api, request, (worker, now) => {
    if (worker.status !== 'FAILED')
      throw new ProblemError('worker_not_failed', `${worker.name} is ${worker.status}; there is nothing to retry`)
    refuseTerminating(worker)
    const status = worker.ec2_instance_id === null ? 'PENDING' : 'STARTING'
    const { name: by } = request.actor
    const { reason: why = '' } = request.body
    const wanted =
      worker.desired_status === 'RUNNING'
        ? worker
        : withDesiredStatus(worker, 'RUNNING', { by, reason: why, until: null, now })
    const entries = [
      auditEntry(request.actor, 'retry', now, {
        before: desiredState(worker),
        after: desiredState(wanted),
        reason: why,
      }),
    ]
    return {
      worker: { ...wanted, status, service_status: 'UNAVAILABLE', failures: 0 },
      entries,
      because: reason('retry_requested_by', { by }),
    }
  })

/** Pins the next certificate of the server: for a CML that was reinstalled. */
export const repinWorker = (api: Api, request: Reasoned): Promise<Worker> =>
  changeWorker(api, request, (worker, now) => {
    refuseTerminating(worker)
    if (worker.cml.certificate_sha256 === null) return null
    const changed = { ...worker, cml: { ...worker.cml, certificate_sha256: null } }
    const more = { before: worker.cml, after: changed.cml, reason: request.body.reason }
    return { worker: changed, entries: [auditEntry(request.actor, 'repin', now, more)] }
  })
