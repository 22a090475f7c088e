import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Drain } from '@lcm/domain/worker/worker-field-schemas'
import type { Api } from '../../api-context.ts'
import { auditEntry } from '../journal/entries.ts'
import { findTemplate } from '../template/queries.ts'
import { changeWorker, type WorkerRequest } from './change-worker.ts'
import { findWorker } from './queries.ts'
import { desiredState, refuseProtected, refuseTerminating } from './set-desired-status.ts'

const DRAIN_SECONDS = 4 * 3600

/**
 * Blocks new assignments, which are a compare-and-set on the same document. The desired status stays RUNNING until the worker
 * is empty.
 */
export async function drainWorker(api: Api, request: WorkerRequest<BodyOf<'drainWorker'>>): Promise<Worker> {
  const { body, actor } = request
  const seconds = body.timeout_seconds ?? (await drainSeconds(api, request.params.id))
  return changeWorker(api, request, (worker, now) => {
    refuseTerminating(worker)
    if (body.then === 'TERMINATED') refuseProtected(worker)
    if (worker.drain !== null && isAskedAgain(worker.drain, body)) return null
    if (worker.status !== 'RUNNING' && worker.status !== 'DRAINING')
      throw new ProblemError(
        'worker_not_running',
        `${worker.name} is ${worker.status}; only a RUNNING worker can be drained`,
      )
    const deadline = toInstant(toMs(now) + seconds * 1000)
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    const drain = { requested_at: now, by: actor.name, reason: body.reason ?? '', then: body.then, deadline }
    const changed = { ...worker, drain }
    const entry = auditEntry(actor, 'drain', now, {
      before: desiredState(worker),
      after: desiredState(changed),
      reason: body.reason,
    })
    return { worker: changed, entries: [entry] }
  })
}

/** A drain by a policy differs from one by a person, and so does another timeout. */
function isAskedAgain(drain: Drain, { then, timeout_seconds }: BodyOf<'drainWorker'>): boolean {
  const seconds = (toMs(drain.deadline) - toMs(drain.requested_at)) / 1000
  return drain.policy === undefined && drain.then === then && (timeout_seconds ?? seconds) === seconds
}

async function drainSeconds(api: Api, id: string): Promise<number> {
  const { template_name } = await findWorker(api, id)
  return (await findTemplate(api, template_name))?.drain_timeout_seconds ?? DRAIN_SECONDS
}

export const cancelDrain = (api: Api, request: WorkerRequest<BodyOf<'cancelDrainWorker'>>): Promise<Worker> =>
  changeWorker(api, request, (worker, now) => {
    if (worker.drain === null) return null
    const changed = { ...worker, drain: null }
    const more = { before: desiredState(worker), after: desiredState(changed), reason: request.body.reason }
    return { worker: changed, entries: [auditEntry(request.actor, 'cancel-drain', now, more)] }
  })
