import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { timingsOf } from '@lcm/domain/calendar/timings'
import { newestEvents, withPeoplesLabs } from '@lcm/domain/fleet/activity-evidence'
import {
  decideIdle,
  type FleetCounts,
  type IdleDecision,
  type IdleEvidence,
  STOPS_WINDOW_MS,
} from '@lcm/domain/fleet/decide-idle'
import type { FleetScaling } from '@lcm/domain/fleet/fleet-scaling'
import type { IdleCalendar } from '@lcm/domain/fleet/idle-calendar'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { reason, sameReason } from '@lcm/domain/reason'
import { POLICY, paused } from '@lcm/domain/worker/lifecycle'
import type { Worker } from '@lcm/domain/worker/worker'
import type { NewEntry } from '@lcm/store/store'
import type { Api } from '../../api-context.ts'
import { decisionEntry, STREAMS, scalingEntry } from '../journal/entries.ts'
import { storedReason } from '../journal/queries.ts'
import { listAll } from '../list-documents.ts'
import { plannedStep } from '../plan/queries.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { currentSettings } from '../settings/queries.ts'
import { findTemplate } from '../template/queries.ts'
import { changeWorker, type WorkerRequest } from '../worker/change-worker.ts'
import { findWorker, listAllWorkers } from '../worker/queries.ts'
import { workerView } from '../worker/worker-view.ts'
import { changeScaling } from './change-fleet-scaling.ts'

type IdleRequest = WorkerRequest<BodyOf<'checkWorkerIdle'>>

const IDLE = POLICY.idle
/** Smaller changes of the last activity are not worth a write. */
const ACTIVITY_MS_MIN = 60_000
const DRAIN_SECONDS = 4 * 3600
/** Longer than any request takes. */
const CHECK_MS_MAX = 30_000

/**
 * Decides whether an idle worker is stopped. The permit is taken first, by compare-and-set on the fleet document, and only
 * then is the worker changed; a permit that a crash leaves is found by the next check of this worker.
 */
export async function checkWorkerIdle(api: Api, unchecked: IdleRequest): Promise<AnswerOf<'checkWorkerIdle'>> {
  const settings = await currentSettings(api)
  const worker = await findWorker(api, unchecked.params.id)
  raiseDocumentFence(worker, unchecked)
  const evidence = await peoplesEvidence(api, worker, unchecked.body.evidence)
  const request = { ...unchecked, body: { ...unchecked.body, evidence } }
  const policy = { settings, calendar: await calendarOf(api, worker, settings) }
  const decision = await decideWithPermit(api, request, worker, policy)
  const recorded = await recordCheck(api, request, { decision, policy })
  await returnPermit(api, worker.id, isStop(decision))
  const { verdict, guards } = recorded.decision
  return {
    verdict: verdict.kind,
    because: verdict.because,
    guards: guards.map(guard => ({ ...guard })),
    worker: await workerView(api, recorded.worker),
  }
}

interface IdlePolicy {
  readonly settings: SettingValues
  readonly calendar: IdleCalendar | null
}

/**
 * What the stored plan has for the worker. A booking that it does not know yet loses nothing: one that starts now has reserved its
 * capacity when the worker is changed, and a later one wakes the worker again.
 */
async function calendarOf(
  api: Api,
  { id, template_name }: Worker,
  { idle_action }: SettingValues,
): Promise<IdleCalendar | null> {
  if (idle_action !== 'calendar') return null
  const { meanMs } = timingsOf([]).bootMs(template_name)
  return { step: await plannedStep(api, id), bootMs: meanMs }
}

/** Labs are read only when one of their events is newer than the known activity. */
async function peoplesEvidence(
  api: Api,
  { id, activity }: Worker,
  evidence: IdleRequest['body']['evidence'],
): Promise<IdleRequest['body']['evidence']> {
  if (evidence === null) return null
  const known = activity.last_activity_at ?? ''
  const lab_events = evidence.lab_events.filter(({ at }) => at > known)
  const labs = lab_events.length === 0 ? [] : await listAll(api.labs, { where: { worker_id: id } })
  const { events, ...judged } = withPeoplesLabs({ ...evidence, lab_events }, labs)
  return { ...judged, events: [...events], lab_events: [] }
}

const isStop = ({ verdict }: IdleDecision): boolean => verdict.kind === 'pause' || verdict.kind === 'drain'

/** A decision to stop needs a permit: a new one, or one that a crash left. */
async function decideWithPermit(
  api: Api,
  request: IdleRequest,
  worker: Worker,
  { settings, calendar }: IdlePolicy,
): Promise<IdleDecision> {
  const { evidence, unreadable } = request.body
  let decision = decideIdle(worker, evidence, settings, { fleet: null, nowMs: api.clock.now(), unreadable, calendar })
  if (!isStop(decision)) return decision
  await changeScaling(
    api,
    async (scaling, now) => {
      const fleet = countsOf(await runningWorkers(api), scaling, { id: worker.id, nowMs: toMs(now) })
      decision = decideIdle(worker, evidence, settings, { fleet, nowMs: toMs(now), calendar })
      if (!isStop(decision) || scaling.stop_permits[worker.id] !== undefined) return null
      const { because } = decision.verdict
      const stop_permits = { ...scaling.stop_permits, [worker.id]: { at: now, reason: because } }
      const entries = [scalingEntry('scale_down_initiated', now, { worker_id: worker.id, because })]
      const recent_stops = [...recentStops(scaling, toMs(now)), { worker_id: worker.id, at: now }]
      return { scaling: { ...scaling, stop_permits, last_scale_down_at: now, recent_stops }, entries }
    },
    request,
  )
  return decision
}

/** Excludes workers that are about to drain. */
const runningWorkers = async (api: Api): Promise<Worker[]> =>
  (await listAllWorkers(api, { status: 'RUNNING', desired_status: 'RUNNING' })).filter(worker => worker.drain === null)

/** The worker's own permit, left by a crash, doesn't count against it; nor does the stop that began with it. */
function countsOf(
  workers: readonly Worker[],
  scaling: FleetScaling,
  { id, nowMs }: { id: string; nowMs: number },
): FleetCounts {
  const { [id]: own, ...others } = scaling.stop_permits
  const running = workers.filter(each => others[each.id] === undefined).length
  const lastScaleDownAt = own !== undefined && own.at === scaling.last_scale_down_at ? null : scaling.last_scale_down_at
  const stops = recentStops(scaling, nowMs).filter(({ worker_id, at }) => worker_id !== id || at !== own?.at)
  const size = new Set([...workers, ...stops.map(({ worker_id }) => ({ id: worker_id }))].map(each => each.id)).size
  return { running, lastScaleDownAt, recentStops: stops.length, size, isHeld: scaling.held_since !== null }
}

const recentStops = ({ recent_stops }: FleetScaling, nowMs: number): FleetScaling['recent_stops'] =>
  recent_stops.filter(({ at }) => nowMs - toMs(at) < STOPS_WINDOW_MS)

/**
 * Runs after every check: an unused permit would exclude its worker from the count forever. A recent permit of another check
 * may still be in use.
 */
const returnPermit = (api: Api, id: string, isTaken: boolean): Promise<unknown> =>
  changeScaling(api, scaling => {
    const { [id]: own, ...stop_permits } = scaling.stop_permits
    if (own === undefined || (!isTaken && api.clock.now() - toMs(own.at) < CHECK_MS_MAX)) return null
    return { scaling: { ...scaling, stop_permits } }
  })

interface Recorded {
  readonly worker: Worker
  readonly decision: IdleDecision
}

/** Writes only changes: new activity, a new verdict, or the stop itself. */
async function recordCheck(
  api: Api,
  request: IdleRequest,
  { decision, policy }: { decision: IdleDecision; policy: IdlePolicy },
): Promise<Recorded> {
  const { evidence } = request.body
  const drainSeconds = policy.settings.idle_action === 'drain' ? await drainSecondsOf(api, request.params.id) : 0
  const lastVerdict = await lastVerdictOf(api, request.params.id)
  let held = decision
  const worker = await changeWorker(api, { ...request, ifMatch: null, once: null }, (current, now) => {
    held = isStop(decision) ? unlessChanged(decision, current, { evidence, policy, nowMs: api.clock.now() }) : decision
    const activity = activityAfter(current, evidence, held, now)
    if (activity === null && !isStop(held) && isSame(held.verdict, lastVerdict)) return null
    const seen = { ...current, activity: activity ?? current.activity, fence: raiseDocumentFence(current, request) }
    const changed = isStop(held) ? stoppedByPolicy(seen, held, { now, drainSeconds }) : seen
    return {
      worker: changed,
      entries: entriesOf(held, request, { now, isReverted: isStop(decision) && !isStop(held) }),
    }
  })
  return { worker, decision: held }
}

/** A change of the worker since the decision, such as a start by a person, wins over the policy. */
function unlessChanged(
  decision: IdleDecision,
  current: Worker,
  { evidence, policy, nowMs }: { evidence: IdleEvidence | null; policy: IdlePolicy; nowMs: number },
): IdleDecision {
  const { settings, calendar } = policy
  const now = decideIdle(current, evidence, settings, { fleet: null, nowMs, calendar })
  return isStop(now) ? decision : now
}

function entriesOf(
  { verdict, guards }: IdleDecision,
  request: IdleRequest,
  { now, isReverted }: { now: Instant; isReverted: boolean },
): NewEntry[] {
  const { kind: action, because } = verdict
  const note = { action, because, cause: 'idle check', seen: {}, guards: [...guards], outcome: '', duration_ms: 0 }
  const decided = decisionEntry(note, { service: request.actor.service ?? '', epoch: request.epoch }, now)
  if (action === 'pause' || action === 'drain') return [decided]
  const outcomes = isReverted && action !== 'skipped_auto_pause' ? ['scale_down_failed' as const, action] : [action]
  return [decided, ...outcomes.map(outcome => scalingEntry(outcome, now, { because }))]
}

async function drainSecondsOf(api: Api, id: string): Promise<number> {
  const { template_name } = await findWorker(api, id)
  return (await findTemplate(api, template_name))?.drain_timeout_seconds ?? DRAIN_SECONDS
}

/** Last verdict in the scaling journal; undefined before the first. */
async function lastVerdictOf(api: Api, id: string): Promise<NewEntry['body'] | undefined> {
  const query = { streams: [STREAMS.scaling], subject: `worker:${id}`, limit: 1 }
  const [last] = await api.store.journal.query(query)
  return last?.body
}

/**
 * Most reasons hold a time that changes with every check, so only the verdict counts. For `skipped_cannot_judge` the reason
 * counts too.
 */
const isSame = ({ kind, because }: IdleDecision['verdict'], last: NewEntry['body'] | undefined): boolean =>
  last !== undefined &&
  'outcome' in last &&
  last.outcome === kind &&
  (kind !== 'skipped_cannot_judge' || sameReason(because, storedReason(last)))

function activityAfter(
  worker: Worker,
  evidence: IdleRequest['body']['evidence'],
  { idleSince }: IdleDecision,
  now: Instant,
): Worker['activity'] | null {
  const { activity } = worker
  // Missing evidence changes nothing.
  if (evidence === null) return null
  const { last_activity_at: last, events } = evidence
  const moved =
    last !== null &&
    toMs(last) - (activity.last_activity_at === null ? 0 : toMs(activity.last_activity_at)) >= ACTIVITY_MS_MIN
  if (!moved && (idleSince === null) === (activity.idle_since === null)) return null
  return {
    ...activity,
    last_activity_at: moved ? last : activity.last_activity_at,
    last_check_at: now,
    idle_since: idleSince,
    recent_events: newestEvents([...activity.recent_events, ...events]),
  }
}

/** Marks the policy as the author. `start` reverts it at any time. */
function stoppedByPolicy(
  worker: Worker,
  { verdict }: IdleDecision,
  { now, drainSeconds }: { now: Instant; drainSeconds: number },
): Worker {
  const words = verdict.because.message
  if (verdict.kind === 'drain') {
    const deadline = toInstant(toMs(now) + drainSeconds * 1000)
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    return { ...worker, drain: { requested_at: now, by: IDLE, reason: words, then: 'STOPPED', deadline, policy: IDLE } }
  }
  const stopped = {
    desired_status: 'STOPPED',
    desired_by: IDLE,
    desired_reason: words,
    desired_until: null,
  } as const
  return paused({ ...worker, ...stopped }, reason('worker_idle'), now)
}
