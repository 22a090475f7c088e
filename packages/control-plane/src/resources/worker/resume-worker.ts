import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import type { Instant } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { auditEntry } from '../journal/entries.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { changeWorker, type WorkerRequest } from './change-worker.ts'
import { desiredState, refuseTerminating, withDesiredStatus } from './set-desired-status.ts'

const RESUME = 'resume_for_session'
const WANTED_MAX = 1000

/** A policy may start what a policy stopped. A worker that a person stopped stays so until a person starts it. */
export const resumeWorker = (api: Api, request: WorkerRequest<BodyOf<'resumeWorker'>>): Promise<Worker> =>
  changeWorker(api, { ...request, ifMatch: null }, (worker, now) => {
    refuseTerminating(worker)
    refuseHeld(worker, now)
    const wanted_by = [...new Set([...worker.wanted_by, ...request.body.session_ids])].slice(-WANTED_MAX)
    const isAwake = worker.desired_status === 'RUNNING'
    if (isAwake && wanted_by.length === worker.wanted_by.length) return null
    const reason = request.body.reason.message
    const awake = isAwake ? worker : withDesiredStatus(worker, 'RUNNING', { by: RESUME, reason, until: null, now })
    const more = { before: desiredState(worker), after: desiredState(awake), reason }
    return {
      worker: { ...awake, wanted_by, fence: raiseDocumentFence(worker, request) },
      entries: [auditEntry({ ...request.actor, name: RESUME }, 'resume', now, more)],
    }
  })

function refuseHeld(worker: Worker, now: Instant): void {
  if (worker.drain !== null) throw new ProblemError('worker_held', `${worker.drain.by} drains ${worker.name}`)
  if (worker.desired_status !== 'STOPPED' || worker.pause.reason !== null) return
  const { desired_by, desired_until } = worker
  if (desired_until === null || desired_until > now)
    throw new ProblemError(
      'worker_held',
      `${desired_by} stopped ${worker.name}${desired_until ? ` until ${desired_until}` : ''}`,
    )
}
