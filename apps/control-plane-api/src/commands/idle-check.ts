import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import type { ScalingOutcome } from '@lcm/domain/decision'
import type { FleetScaling } from '@lcm/domain/fleet/fleet-scaling'
import { decideIdle, type IdleDecision, type IdleEvidence } from '@lcm/domain/fleet/idle'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { ACTIVITY_EVENTS_MAX } from '@lcm/domain/worker/parts'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../api.ts'
import { settingsNow } from '../queries/settings.ts'
import { findTemplate } from '../queries/templates.ts'
import { allWorkers, findWorker, viewOf } from '../queries/workers.ts'
import { changeWorker, raisedFence, type WorkerRequest } from './change-worker.ts'
import { decisionEntry, scalingEntry } from './entries.ts'
import { changeScaling, fleetScaling } from './fleet-scaling.ts'

type IdleRequest = WorkerRequest<BodyOf<'checkWorkerIdle'>>

const IDLE = 'idle'
/** Smaller moves of the last activity are not worth a write. */
const ACTIVITY_MS_MIN = 60_000
const DRAIN_SECONDS = 4 * 3600

/**
 * Whether an idle worker is stopped. The room for it is taken first, by compare-and-set on the fleet's one document, and only
 * then is the worker changed; a crash between the two costs a permit that the next check of this worker finds.
 */
export async function checkWorkerIdle(api: Api, request: IdleRequest): Promise<AnswerOf<'checkWorkerIdle'>> {
  const settings = await settingsNow(api)
  const worker = await findWorker(api, request.params.id)
  raisedFence(worker, request)
  const { decision, permitted } = await decideWithRoom(api, worker, request.body.evidence, settings)
  const changed = await recordCheck(api, request, decision, permitted ? settings : null)
  if (permitted) await returnPermit(api, worker.id)
  const { verdict, guards } = decision
  const said = guards.map(guard => ({ ...guard }))
  return { verdict: verdict.kind, because: verdict.because, guards: said, worker: await viewOf(api, changed) }
}

const isStop = ({ verdict }: IdleDecision): boolean => verdict.kind === 'pause' || verdict.kind === 'drain'

async function decideWithRoom(
  api: Api,
  worker: Worker,
  evidence: IdleEvidence | null,
  settings: SettingValues,
): Promise<{ decision: IdleDecision; permitted: boolean }> {
  const workers = await allWorkers(api)
  const decide = (scaling: FleetScaling): IdleDecision =>
    decideIdle(worker, evidence, settings, { fleet: countsOf(workers, scaling, worker.id), nowMs: api.clock.now() })
  const first = decide(await fleetScaling(api))
  if (!isStop(first)) return { decision: first, permitted: false }
  let decision = first
  await changeScaling(api, (scaling, now) => {
    decision = decide(scaling)
    if (!isStop(decision)) return null
    const permit = { at: now, reason: decision.verdict.because }
    const entry = scalingEntry('scale_down_initiated', now, { worker_id: worker.id, because: decision.verdict.because })
    const stop_permits = { ...scaling.stop_permits, [worker.id]: permit }
    return { scaling: { ...scaling, stop_permits, last_scale_down_at: now }, entries: [entry] }
  })
  return { decision, permitted: isStop(decision) }
}

/** Its own permit, left by a crash, does not stand in a worker's way; nor does the cooldown that began with it. */
function countsOf(workers: readonly Worker[], scaling: FleetScaling, id: string) {
  const { [id]: own, ...others } = scaling.stop_permits
  const running = workers.filter(
    each => each.status === 'RUNNING' && each.desired_status === 'RUNNING' && others[each.id] === undefined,
  )
  const lastScaleDownAt = own !== undefined && own.at === scaling.last_scale_down_at ? null : scaling.last_scale_down_at
  return { running: running.length, lastScaleDownAt, isHeld: scaling.held_since !== null }
}

const returnPermit = (api: Api, id: string): Promise<unknown> =>
  changeScaling(api, scaling => {
    const { [id]: own, ...stop_permits } = scaling.stop_permits
    return own === undefined ? null : { scaling: { ...scaling, stop_permits } }
  })

/** Writes only what is new: activity that moved, a verdict that changed, or the stop itself. */
async function recordCheck(
  api: Api,
  request: IdleRequest,
  decision: IdleDecision,
  stopBy: SettingValues | null,
): Promise<Worker> {
  const template =
    stopBy?.idle_action === 'drain'
      ? await findTemplate(api, (await findWorker(api, request.params.id)).template_name)
      : null
  return changeWorker(api, { ...request, ifMatch: null, once: null }, (worker, now) => {
    const activity = activityAfter(worker, request.body.evidence, decision, now)
    if (activity === null && stopBy === null) return null
    const seen = { ...worker, activity: activity ?? worker.activity, fence: raisedFence(worker, request) }
    const stopped =
      stopBy === null
        ? seen
        : stoppedByPolicy(seen, decision, { now, drainSeconds: template?.drain_timeout_seconds ?? DRAIN_SECONDS })
    const note = {
      action: decision.verdict.kind,
      because: decision.verdict.because,
      cause: 'idle check',
      seen: {},
      guards: [...decision.guards],
      outcome: '',
      duration_ms: 0,
    }
    const entries = [decisionEntry(note, { service: request.actor.service ?? '', epoch: request.epoch }, now)]
    if (stopBy === null) entries.push(scalingEntry(skipOf(decision), now, { because: decision.verdict.because }))
    return { worker: stopped, entries }
  })
}

const skipOf = ({ verdict }: IdleDecision): ScalingOutcome =>
  verdict.kind === 'pause' || verdict.kind === 'drain' ? 'scale_down_initiated' : verdict.kind

function activityAfter(
  worker: Worker,
  evidence: IdleRequest['body']['evidence'],
  { idleSince }: IdleDecision,
  now: Instant,
): Worker['activity'] | null {
  const { activity } = worker
  const last = evidence?.last_activity_at ?? null
  const moved =
    last !== null &&
    toMs(last) - (activity.last_activity_at === null ? 0 : toMs(activity.last_activity_at)) >= ACTIVITY_MS_MIN
  if (!moved && (idleSince === null) === (activity.idle_since === null)) return null
  return {
    ...activity,
    last_activity_at: moved ? last : activity.last_activity_at,
    last_check_at: now,
    idle_since: idleSince,
    recent_events: (evidence?.events ?? []).slice(-ACTIVITY_EVENTS_MAX),
  }
}

/** The policy says that it was the author. `start` takes it back, at any time. */
function stoppedByPolicy(
  worker: Worker,
  { verdict }: IdleDecision,
  { now, drainSeconds }: { now: Instant; drainSeconds: number },
): Worker {
  const reason = verdict.because
  if (verdict.kind === 'drain') {
    const deadline = toInstant(toMs(now) + drainSeconds * 1000)
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    return { ...worker, drain: { requested_at: now, by: IDLE, reason, then: 'STOPPED', deadline } }
  }
  const { pause } = worker
  return {
    ...worker,
    desired_status: 'STOPPED',
    desired_by: IDLE,
    desired_reason: reason,
    desired_until: null,
    pause: {
      ...pause,
      reason: IDLE,
      by: IDLE,
      last_paused_at: now,
      counts: { ...pause.counts, auto: pause.counts.auto + 1 },
    },
  }
}
