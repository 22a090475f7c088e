import { ProblemError, refusedBy } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { hasBudget } from '@lcm/domain/fleet/budget'
import type { Instant } from '@lcm/domain/instant'
import { POLICY } from '@lcm/domain/worker/lifecycle'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { affordable } from '../fleet/budget-windows.ts'
import { changeScaling } from '../fleet/change-fleet-scaling.ts'
import { recordRefusal } from '../fleet/record-refusal.ts'
import { auditEntry } from '../journal/entries.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { currentSettings } from '../settings/queries.ts'
import { changeWorker, type WorkerRequest } from './change-worker.ts'
import { findWorker } from './queries.ts'
import { desiredState, refuseTerminating, withDesiredStatus } from './set-desired-status.ts'

const RESUME = POLICY.resume
const WANTED_MAX = 1000

type ResumeRequest = WorkerRequest<BodyOf<'resumeWorker'>>

/** A policy may start what a policy stopped. A worker that a person stopped stays so until a person starts it. */
export async function resumeWorker(api: Api, request: ResumeRequest): Promise<Worker> {
  await commitResume(api, request)
  return changeWorker(api, { ...request, ifMatch: null }, (worker, now) => {
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
}

/** Takes what the worker will cost from the budgets, before it is started; by compare-and-set, as every purchase. */
async function commitResume(api: Api, request: ResumeRequest): Promise<void> {
  const settings = await currentSettings(api)
  if (!hasBudget(settings)) return
  const { id, cost_per_hour_usd } = await findWorker(api, request.params.id)
  await changeScaling(
    api,
    async (scaling, now) => {
      const worker = await findWorker(api, id)
      if (worker.desired_status !== 'STOPPED' || heldText(worker, now) !== null) return null
      const machines = { count: 1, usdPerHour: cost_per_hour_usd ?? 0, diskUsdPerHour: 0 }
      const granted = await affordable(api, { settings, scaling, now }, { ...machines, ...request.body })
      if (granted.refusal !== null) throw refusedBy('budget_exceeded', granted.refusal)
      return { scaling: { ...scaling, commitments: granted.commitments([id]) } }
    },
    request,
  ).catch(error => recordRefusal(api, id, { worker_id: id, session_ids: request.body.session_ids }, error))
}

function refuseHeld(worker: Worker, now: Instant): void {
  const held = heldText(worker, now)
  if (held !== null) throw new ProblemError('worker_held', held)
}

/** The request that keeps the worker from being started; null without one. */
function heldText(worker: Worker, now: Instant): string | null {
  if (worker.drain !== null) return `${worker.drain.by} drains ${worker.name}`
  const { desired_status, desired_by, desired_until, pause } = worker
  if (desired_status !== 'STOPPED' || pause.reason !== null) return null
  if (desired_until !== null && desired_until <= now) return null
  return `${desired_by} stopped ${worker.name}${desired_until ? ` until ${desired_until}` : ''}`
}
