import { AUTHORS, isLearner, LABLET_CONTROLLER, mayCall, mayView } from '@lcm/contract/route-spec'
import type { AnswerOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { redactLoss } from '@lcm/domain/calendar/session-admission'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import type { DecisionRecord } from '@lcm/domain/journal-records'
import type { Reason } from '@lcm/domain/reason'
import { redactPlacement, redactReason, redactWaitingReason } from '@lcm/domain/redact-reason'
import type { PlannedAction } from '@lcm/domain/service-instance'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import { redactSessionIds } from './redact-session-ids.ts'

/**
 * Views for people who use the fleet and don't run it. They have the fields that booking and connecting need, and keep their
 * shape: what is hidden is null, empty or an ellipsis.
 */

const HIDDEN = '…'

type SettingsView = AnswerOf<'getSettings'>
type PlacementPreview = AnswerOf<'previewPlacement'>

const redactEach = <T extends { readonly reason: Parameters<typeof redactReason>[0] }>(all: readonly T[]): T[] =>
  all.map(each => ({ ...each, reason: redactReason(each.reason) }))

/** A worker without its launch, addresses, certificates, tags and license server, and with reasons that name none of them. */
export function narrowWorker<W extends Worker>(worker: W): W {
  const narrow = narrowRecord(worker)
  return 'health' in worker ? { ...narrow, health: workerHealth(narrow) } : narrow
}

function narrowRecord<W extends Worker>(worker: W): W {
  const { cml, license, activity, pause, approval } = worker
  return {
    ...worker,
    tags: {},
    conditions: redactEach(worker.conditions),
    launch: null,
    ec2_instance_id: null,
    ami_id: null,
    availability_zone: null,
    public_ip: null,
    private_ip: null,
    https_endpoint: null,
    cml: { ...cml, certificate_sha256: null, seen_certificate_sha256: null },
    approval: { ...approval, fingerprint: null },
    state_history: worker.state_history.map(each => ({ ...each, because: redactReason(each.because) })),
    license: { ...license, udi: null, hostname: null, last_error: null },
    activity: { ...activity, recent_events: [] },
    pause: { ...pause, reason: pause.reason && redactReason(pause.reason) },
    secret_refs: {},
    applied_keys: [],
    fence: {},
  }
}

export const narrowTemplate = (template: WorkerTemplate): WorkerTemplate => ({
  ...template,
  ami_name_pattern: HIDDEN,
  ami_owner: HIDDEN,
  iam_instance_profile: null,
  subnets: {},
  secret_refs: {},
})

/** The settings without the images whose machines get secrets. */
export function narrowSettings(view: SettingsView): SettingsView {
  const { auto_approve } = view.settings
  if (auto_approve.value === SETTING_DEFAULTS.auto_approve) return view
  return { ...view, settings: { ...view.settings, auto_approve: { ...auto_approve, value: HIDDEN } } }
}

export const narrowLeak = (leak: LicenseLeak): LicenseLeak => ({
  ...leak,
  udi: null,
  hostname: null,
  reason: redactReason(leak.reason),
})

/** By these facts console and command line recognize the newest decision about a request. */
const SHOWN_FACTS: readonly string[] = ['status', 'desired_status', 'ec2']

/** A decision about the fleet, without the other facts that were seen. */
export const narrowDecision = <D extends DecisionRecord>(decision: D): D => ({
  ...decision,
  resource: narrowResource(decision.resource),
  because: redactReason(decision.because),
  seen: Object.fromEntries(Object.entries(decision.seen).filter(([name]) => SHOWN_FACTS.includes(name))),
  guards: decision.guards.map(guard => ({ ...guard, value: numberOf(guard.value), limit: numberOf(guard.limit) })),
  outcome: '',
})

/** An action that a controller plans for the fleet. */
export const narrowPlanned = <P extends PlannedAction>(planned: P): P => ({
  ...planned,
  resource: narrowResource(planned.resource),
  because: redactReason(planned.because),
})

/** A machine without a worker is named by its instance; a purchase by template and region. */
const narrowResource = (resource: string): string => resource.replace(/^fleet:[^/]*$/, `fleet:${HIDDEN}`)

const numberOf = <T>(value: T): T | typeof HIDDEN => (typeof value === 'string' ? HIDDEN : value)

/** Users book what a topology describes, and don't read it: its configurations may hold passwords. */
export const readsTopologies = ({ role }: Pick<Actor, 'role'>): boolean => role !== 'user'

const NOT_FETCHED = 'the source could not be fetched'

/**
 * A definition as this actor reads it: users without topology and details of its source. Only authors, and the controller that
 * fetches it, read its query.
 */
export function definitionFor<D extends Omit<LabletDefinition, 'topology'>>(actor: Actor, definition: D): D {
  const { source, sync } = definition
  if (mayCall(actor, AUTHORS) || mayCall(actor, LABLET_CONTROLLER)) return definition
  if (readsTopologies(actor)) return { ...definition, source: withoutQuery(source) }
  return {
    ...definition,
    ...('topology' in definition ? { topology: null } : {}),
    source: withoutQuery(source),
    sync: { ...sync, error: sync.error && NOT_FETCHED },
  }
}

/** The query of an address may be a signature that grants access. */
export const withoutQuery = (source: string): string => source.replace(/[?#].*$/s, '')

/** A session as its owner reads it: other sessions are not named. Learners read that they wait, not how the scheduler decides. */
export function sessionFor(actor: Actor, session: LabletSession): LabletSession {
  if (mayView(actor, '')) return session
  const { waiting_reason, health, state_history } = redactSessionIds(session, { sessions: new Set([session.id]) })
  if (!isLearner(actor)) return { ...session, waiting_reason, health, state_history }
  const { admission } = session
  const shown = {
    ...session,
    admission: { ...admission, machine: null, at_risk: redactLoss(admission) },
    state_history: state_history.map(each => ({ ...each, because: redactPlacement(each.because) })),
  }
  if (waiting_reason === null) return shown
  return {
    ...shown,
    waiting_reason: redactWaitingReason(waiting_reason),
    health: { ...health, reason: health.reason && redactWaitingReason(health.reason) },
  }
}

type AboutSession = Pick<DecisionRecord, 'service' | 'action'> & Partial<Pick<DecisionRecord, 'seen'>>

/** Whether the reason may be one that the scheduler gave. */
const isScheduling = ({ service, action, seen }: AboutSession): boolean =>
  service === 'resource-scheduler'
    ? action === 'wait' || action === 'place' || action === 'assign'
    : seen?.status === 'PENDING'

const redactScheduling = ({ action, because }: Pick<DecisionRecord, 'action' | 'because'>): Reason =>
  action === 'assign' ? redactPlacement(because) : redactWaitingReason(because)

/** A decision about the session of the actor. */
export const sessionDecisionFor = <D extends DecisionRecord>(actor: Actor, decision: D): D =>
  !isLearner(actor) || !isScheduling(decision)
    ? decision
    : { ...narrowDecision(decision), because: redactScheduling(decision) }

/** A planned action for the session of the actor. */
export const sessionPlanFor = <P extends PlannedAction & { readonly service: string }>(actor: Actor, planned: P): P =>
  !isLearner(actor) || !isScheduling(planned) ? planned : { ...planned, because: redactScheduling(planned) }

/** A preview for this actor: users learn whether they would wait, not how the workers compare. */
export function previewFor(actor: Actor, preview: PlacementPreview): PlacementPreview {
  if (!isLearner(actor)) return preview
  const { outcome, because } = preview
  const isPlaced = outcome === 'place'
  return {
    outcome,
    because: isPlaced ? redactPlacement(because) : redactWaitingReason(because),
    candidates: [],
    refusals: [],
  }
}
