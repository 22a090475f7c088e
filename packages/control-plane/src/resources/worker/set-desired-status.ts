import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { DesiredStatus, Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { auditEntry } from '../journal/entries.ts'
import { currentSettings } from '../settings/queries.ts'
import { changeWorker, type WorkerRequest } from './change-worker.ts'

type IntentRequest = WorkerRequest<BodyOf<'startWorker'>>

const VERBS: Readonly<Record<DesiredStatus, string>> = { RUNNING: 'start', STOPPED: 'stop', TERMINATED: 'terminate' }

/** People change the desired status, never the status. Repeating a request changes nothing. */
export async function setDesiredStatus(api: Api, request: IntentRequest, desired: DesiredStatus): Promise<Worker> {
  const { idle_snooze_seconds } = await currentSettings(api)
  return changeWorker(api, request, (worker, now) => {
    refuseIntent(worker, desired, request.body.force)
    refusePast(request.body.until, now)
    if (isWanted(worker, desired, request.body.until, now)) return null
    const until =
      desired === 'TERMINATED' ? null : (request.body.until ?? heldByDefault(desired, now, idle_snooze_seconds))
    const changed = withDesiredStatus(worker, desired, {
      by: request.actor.name,
      reason: request.body.reason ?? '',
      until,
      now,
    })
    const entries = [
      auditEntry(request.actor, VERBS[desired], now, {
        before: desiredState(worker),
        after: desiredState(changed),
        reason: request.body.reason,
      }),
    ]
    return { worker: changed, entries }
  })
}

/** A person who requests what a policy set takes it over and holds it. */
function isWanted(worker: Worker, desired: DesiredStatus, until: Instant | undefined, now: Instant): boolean {
  if (worker.desired_status !== desired) return false
  if (desired === 'TERMINATED') return true
  if (until !== undefined && until !== worker.desired_until) return false
  return desired === 'RUNNING' ? worker.drain === null && isHeld(worker, now) : worker.pause.reason === null
}

/** Whether a person's request still holds against policies. */
const isHeld = ({ desired_until }: Worker, now: Instant): boolean => desired_until !== null && desired_until > now

function refusePast(until: Instant | undefined, now: Instant): void {
  if (until === undefined || until > now) return
  const errors = [{ path: 'body.until', message: 'must be in the future' }]
  throw new ProblemError('validation_failed', `body.until: must be after ${now}`, errors)
}

/** A start holds against the idle policy for a while; a stop until a person starts the worker. */
const heldByDefault = (desired: DesiredStatus, now: Instant, snoozeSeconds: number): Instant | null =>
  desired === 'RUNNING' ? toInstant(toMs(now) + snoozeSeconds * 1000) : null

export const desiredState = ({ desired_status, desired_until, drain }: Worker) => ({
  desired_status,
  desired_until,
  drain,
})

/** A worker with a new desired status by a person. It ends a drain and a pause by a policy. */
export function withDesiredStatus(
  worker: Worker,
  desired_status: DesiredStatus,
  { by, reason, until, now }: { by: string; reason: string; until: Instant | null; now: Instant },
): Worker {
  const { pause } = worker
  const isResumed = desired_status === 'RUNNING' && worker.desired_status !== 'RUNNING'
  const isPaused = desired_status === 'STOPPED' && worker.desired_status === 'RUNNING'
  return {
    ...worker,
    desired_status,
    desired_by: by,
    desired_reason: reason,
    desired_until: until,
    drain: null,
    pause: {
      ...pause,
      reason: null,
      by: null,
      last_resumed_at: isResumed ? now : pause.last_resumed_at,
      last_paused_at: isPaused ? now : pause.last_paused_at,
      counts: {
        ...pause.counts,
        resumed: pause.counts.resumed + (isResumed ? 1 : 0),
        manual: pause.counts.manual + (isPaused ? 1 : 0),
      },
    },
  }
}

function refuseIntent(worker: Worker, desired: DesiredStatus, force: boolean): void {
  if (desired === 'TERMINATED') refuseProtected(worker)
  else refuseTerminating(worker)
  if (desired === 'RUNNING' || worker.desired_status === desired) return
  const sessions = Object.keys(worker.reservations).length
  if (sessions > 0 && !force) {
    throw new ProblemError(
      'worker_has_sessions',
      `${sessions === 1 ? '1 session lives' : `${sessions} sessions live`} on ${worker.name}; drain it first, or send force: true`,
    )
  }
}

export function refuseProtected(worker: Worker): void {
  if (worker.protected)
    throw new ProblemError('worker_protected', `${worker.name} is protected; PATCH it with {"protected": false} first`)
}

export function refuseTerminating(worker: Worker): void {
  if (worker.desired_status !== 'TERMINATED' && worker.status !== 'TERMINATED') return
  const state = worker.status === 'TERMINATED' ? 'is terminated' : 'is being terminated'
  throw new ProblemError('worker_terminating', `${worker.name} ${state}, which cannot be undone; create a new worker`)
}
