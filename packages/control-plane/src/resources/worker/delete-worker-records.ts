import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api, Request } from '../../api-context.ts'
import { refuseStale } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { removeLabsOf } from '../lab/mark-orphan-labs.ts'
import { forgetSecrets } from '../secret/secrets-and-licenses.ts'
import { currentSettings } from '../settings/queries.ts'
import type { WorkerRequest } from './change-worker.ts'
import { findWorker, listAllWorkers } from './queries.ts'
import { labCountSeries } from './worker-view.ts'

/** Deletes a record, never a machine: the record stays while there may be a machine. */
export async function deleteWorker(api: Api, request: WorkerRequest): Promise<null> {
  const worker = await findWorker(api, request.params.id)
  refuseStale(worker, request.ifMatch)
  if (worker.status !== 'TERMINATED') {
    throw new ProblemError('worker_not_terminated', `${worker.name} is ${worker.status}; terminate it first`)
  }
  if (!(await removeWorker(api, worker, request.actor)))
    throw new ProblemError('version_mismatch', `${worker.name} was changed meanwhile: read it again`)
  return null
}

/**
 * Deletes the record and everything that belongs to it. Secrets and samples go first: without their worker nothing would find
 * them.
 */
export async function removeWorker(api: Api, worker: Worker, actor: Actor): Promise<boolean> {
  await forgetSecrets(api, `worker:${worker.id}`)
  await api.store.series.drop(`worker:${worker.id}`)
  await api.store.series.drop(labCountSeries(worker.id))
  await removeLabsOf(api, worker.id)
  const entry = auditEntry(actor, 'delete', toInstant(api.clock.now()), { before: { name: worker.name } })
  return (await api.workers.remove(worker, [entry])).ok
}

const DAY_MS = 86_400_000

/** Deletes records of workers that were terminated long ago. License leaks stay on record. */
export async function cleanUpWorkers(
  api: Api,
  { body, actor }: Request<object, unknown, BodyOf<'cleanUpWorkers'>>,
): Promise<AnswerOf<'cleanUpWorkers'>> {
  const days = body.retention_days ?? (await currentSettings(api)).terminated_retention_days
  const before = api.clock.now() - days * DAY_MS
  const terminated = await listAllWorkers(api, { status: 'TERMINATED' })
  const old = terminated.filter(worker => toMs(worker.entered_status_at) < before)
  const removed: string[] = []
  for (const worker of old) if (body.dry_run || (await removeWorker(api, worker, actor))) removed.push(worker.id)
  return { removed, dry_run: body.dry_run }
}
