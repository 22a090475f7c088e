import { type EventData, type EventResourceName, RESOURCE_KINDS, type ResourceName } from '@lcm/contract/resource-kinds'
import type { ChangeHint } from '@lcm/coordination/change-keys'
import type { Actor } from '@lcm/domain/actor'
import { Timing } from '@lcm/domain/calendar/timings'
import { ServiceTerm } from '@lcm/domain/fencing'
import { FleetScaling } from '@lcm/domain/fleet/fleet-scaling'
import { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { Settings } from '@lcm/domain/fleet/settings'
import type { Instant } from '@lcm/domain/instant'
import { LabRecord } from '@lcm/domain/lab/lab-record'
import { LicensePool } from '@lcm/domain/license/license-pool'
import { Person } from '@lcm/domain/person'
import { StoredPlan } from '@lcm/domain/plan/stored-plan'
import { Quota } from '@lcm/domain/quota/quota'
import type { ReasonCode } from '@lcm/domain/reason'
import { ServiceInstance } from '@lcm/domain/service-instance'
import { isFinal, LabletSession } from '@lcm/domain/session/lablet-session'
import { lostSession } from '@lcm/domain/session/session-health'
import { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { Worker } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import type { Collection, Document, Kind, Store, StoreSchema } from '@lcm/store/store'
import type { z } from 'zod'
import type { ApiParts } from './api-dependencies.ts'
import { keyIdIn } from './crypto.ts'
import {
  BrowserSession,
  FeedReader,
  IdempotentRequest,
  KeyRingState,
  LoginCode,
  Secret,
  StoredDefinition,
  StoredNotification,
  StoredSave,
  StoredTarget,
  StoredTargetHealth,
  StoredToken,
} from './internal-documents.ts'
import { definitionFor, narrowSettings, narrowTemplate, sessionFor, withoutQuery } from './narrow-view.ts'
import { CalendarHead } from './resources/calendar/calendar-head.ts'
import { definitionSummary } from './resources/definition/definition-view.ts'
import { isLabCurrent, isLabGone } from './resources/lab/is-lab-usable.ts'
import { planSummary } from './resources/plan/plan-view.ts'
import { saveView } from './resources/save/save-view.ts'
import { settingsView } from './resources/settings/settings-view.ts'
import { workerView } from './resources/worker/worker-view.ts'
import { UPGRADES } from './upgrades.ts'
import { type Ownership, redactLab, redactWorker, sessionsOfLab, sessionsOfWorker, wasUnowned } from './visibility.ts'

/** Which actors receive an event, and with which data. Actors that may see every session receive all of it. */
export type EventVisibility<V> =
  /** Every actor, in the view of its role. */
  | { readonly kind: 'by_role'; narrow(view: V, actor: Actor): V }
  /** Only the owner. A deletion is sent to the owner that its `removalEntry` names; without one to no owner. */
  | { readonly kind: 'owner'; owner(view: V): string; narrow(view: V, actor: Actor): V }
  /**
   * Every actor, without the parts that belong to sessions of others; null hides the resource. `wasShown`: whether every actor
   * could see it before, so that clients that know it are sent its deletion.
   */
  | {
      readonly kind: 'redacted'
      sessions(view: V): string[]
      redact(view: V, own: Ownership): V | null
      wasShown(view: V): boolean
      /** The reason of the transition since when every actor sees it; null if every actor always did. */
      readonly shownSince: ReasonCode | null
    }

interface StoredRow<T extends Document> extends Pick<Kind<T>, 'unique' | 'facets'> {
  readonly schema: z.ZodType<T>
}
type StoredKind<T extends Document> = Kind<T> & StoredRow<T>

interface PublishedDocument extends Document {
  readonly updated_at: string
}

interface PublishedRow<T> {
  /** Fields of the change key besides id, version and time. A hint is small and holds no secret. */
  hint(document: T): Omit<ChangeHint, 'id' | 'version' | 'updated_at' | 'deleted'>
}

interface EventRow<T, V> extends PublishedRow<T> {
  /** Data of its events. */
  view(parts: ApiParts, document: T): Promise<V> | V
  readonly visibility: EventVisibility<V>
}

interface Published<T> {
  changeHint(document: T): ChangeHint
}

interface WithEvents<T, V> {
  snapshot(parts: ApiParts, document: T): Promise<{ readonly version: number; readonly at: Instant; readonly data: V }>
  readonly visibility: EventVisibility<V>
}

/** A kind that is never published. */
const internal = <T extends Document>(name: string, row: StoredRow<T>): StoredKind<T> => ({
  name,
  parse: body => row.schema.parse(body),
  announced: false,
  ...row,
})

/** A kind whose changes are published by change keys; its names are in the contract. */
const published = <T extends PublishedDocument>(
  name: ResourceName,
  { hint, ...row }: StoredRow<T> & PublishedRow<T>,
): StoredKind<T> & Published<T> => ({
  name: RESOURCE_KINDS[name].kind,
  parse: body => row.schema.parse(body),
  announced: true,
  ...row,
  changeHint(document) {
    const { id, version, updated_at } = document
    return { id, version, updated_at, ...hint(document) }
  },
})

/** A published kind that also sends events. */
const withEvents = <N extends EventResourceName, T extends PublishedDocument>(
  name: N,
  { view, visibility, ...row }: StoredRow<T> & EventRow<T, EventData<N>>,
): StoredKind<T> & Published<T> & WithEvents<T, EventData<N>> => ({
  ...published(name, row),
  visibility,
  async snapshot(parts, document) {
    return { version: document.version, at: document.updated_at, data: await view(parts, document) }
  },
})

/**
 * One row per kind of resource, by the name of its collection. Collections, change keys and events follow from it. To add a
 * kind, add a folder in `resources/` and a row here, and one in the contract when its changes are published.
 */
export const RESOURCES = {
  workers: withEvents('workers', {
    schema: Worker,
    // An instance that was given up and is found again gets a new record.
    unique: { ec2_instance_id: worker => (worker.status === 'TERMINATED' ? null : worker.ec2_instance_id) },
    facets: workerFacets,
    hint: ({ status, desired_status, service_status, cml: { restarted_at } }) => ({
      ...{ status, desired_status, service_status },
      ...(restarted_at === null ? {} : { restarted_at }),
    }),
    view: workerView,
    visibility: {
      kind: 'redacted',
      sessions: sessionsOfWorker,
      redact: redactWorker,
      wasShown: () => true,
      shownSince: null,
    },
  }),
  templates: withEvents('templates', {
    schema: WorkerTemplate,
    unique: { name: template => template.name },
    facets: template => ({ name: template.name }),
    hint: () => ({}),
    view: (_, template) => template,
    visibility: { kind: 'by_role', narrow: narrowTemplate },
  }),
  definitions: withEvents('definitions', {
    schema: StoredDefinition,
    unique: { version: ({ name, definition_version }) => `${name}@${definition_version}` },
    facets: ({ name, status }) => ({ name, status }),
    hint: ({ status }) => ({ status }),
    // Webhooks and logs receive events too, so none of them shows a signed address.
    view: (_, definition) => ({ ...definitionSummary(definition), source: withoutQuery(definition.source) }),
    visibility: {
      kind: 'by_role',
      narrow: (view, actor) => definitionFor(actor, view),
    },
  }),
  sessions: withEvents('sessions', {
    schema: LabletSession,
    // Per owner: the number of another owner must be neither taken nor revealed.
    unique: {
      reservation_id: ({ owner, reservation_id }) =>
        reservation_id === null ? null : JSON.stringify([owner, reservation_id]),
    },
    facets: session => ({
      status: session.status,
      health: session.health.status,
      owner: session.owner,
      definition: session.definition.name,
      definition_id: session.definition.id,
      is_over: isFinal(session.status) ? 'yes' : 'no',
      ...(isFinal(session.status) ? {} : calendarFacets(session)),
      ...(lostSession(session) === null ? {} : { was_lost: 'yes' }),
      ...(session.worker_id === null ? {} : { worker_id: session.worker_id }),
    }),
    hint: ({ status, desired_status }) => ({ status, desired_status }),
    view: (_, session) => session,
    visibility: { kind: 'owner', owner: session => session.owner, narrow: (view, actor) => sessionFor(actor, view) },
  }),
  labs: withEvents('labs', {
    schema: LabRecord,
    unique: {
      lab_id: ({ worker_id, lab_id }) => (lab_id === null ? null : `${worker_id}/${lab_id}`),
      /** A session has at most one current lab, whatever crashes. */
      session_id: lab => (isLabCurrent(lab) ? lab.session_id : null),
    },
    facets: lab => ({
      status: lab.status,
      worker_id: lab.worker_id,
      is_gone: isLabGone(lab) ? 'yes' : 'no',
      ...(lab.session_id === null ? {} : { session_id: lab.session_id }),
    }),
    hint: ({ status }) => ({ status }),
    view: (_, lab) => lab,
    visibility: {
      kind: 'redacted',
      sessions: sessionsOfLab,
      redact: redactLab,
      wasShown: wasUnowned,
      shownSince: 'lab_discovered',
    },
  }),
  saves: withEvents('saves', {
    schema: StoredSave,
    // Of two attempts at the same time, one finds the save of the other.
    unique: { number: ({ session_id, number }) => `${session_id}/${number}` },
    facets: ({ session_id, owner, definition, session_ended_at, sealed_key }) => ({
      session_id,
      owner,
      definition: definition.name,
      is_open: session_ended_at === null ? 'yes' : 'no',
      key: keyFacet(sealed_key),
    }),
    hint: () => ({}),
    view: (_, save) => saveView(save),
    visibility: { kind: 'owner', owner: save => save.owner, narrow: save => save },
  }),
  /** One document per person, with the ledger of the sessions that count. */
  quotas: internal('quota', { schema: Quota }),
  /** The head of the calendar, which every promise goes through. */
  calendars: internal('calendar', { schema: CalendarHead }),
  settings: withEvents('settings', {
    schema: Settings,
    hint: () => ({}),
    view: (parts, settings) => settingsView(parts, settings),
    visibility: { kind: 'by_role', narrow: narrowSettings },
  }),
  /** One document, which the leading scheduler replaces when its meaning changes. */
  plans: withEvents('plans', {
    schema: StoredPlan,
    hint: () => ({}),
    view: (_, plan) => planSummary(plan),
    visibility: { kind: 'redacted', sessions: () => [], redact: () => null, wasShown: () => false, shownSince: null },
  }),
  /** One document per service: its newest term and the requests to its leader. */
  services: published('services', { schema: ServiceTerm, hint: () => ({}) }),
  instances: internal('instance', {
    schema: ServiceInstance,
    facets: instance => ({ service: instance.service }),
  }),
  timings: internal('timing', { schema: Timing }),
  fleetScaling: internal('fleet_scaling', { schema: FleetScaling }),
  leaks: internal('license_leak', {
    schema: LicenseLeak,
    // A resolved leak does not hide the next one.
    unique: { worker_id: leak => (leak.resolved_at === null ? leak.worker_id : null) },
    facets: leak => ({ worker_id: leak.worker_id }),
  }),
  licensePools: internal('license_pool', {
    schema: LicensePool,
    unique: { product: pool => pool.product },
    facets: pool => ({ product: pool.product }),
  }),
  people: internal('person', {
    schema: Person,
    facets: ({ merging_into }) => (merging_into === null ? {} : { merging_into, is_merging: 'yes' }),
  }),
  tokens: internal('token', {
    schema: StoredToken,
    unique: { hash: token => token.hash },
    facets: ({ hash, person_id }) => ({ hash, ...(person_id === null ? {} : { person_id }) }),
  }),
  keyRings: internal('key_ring', { schema: KeyRingState }),
  secrets: internal('secret', {
    schema: Secret,
    facets: ({ resource, sealed }) => ({ resource, key: keyFacet(sealed) }),
  }),
  idempotentRequests: internal('idempotent_request', {
    schema: IdempotentRequest,
    facets: ({ answer }) => ({ key: answer === null ? UNANSWERED : keyFacet(answer.sealed_body) }),
  }),
  loginCodes: internal('login_code', { schema: LoginCode }),
  browserSessions: internal('browser_session', {
    schema: BrowserSession,
    facets: ({ actor, provider }) => ({
      actor_id: actor.id,
      ...(provider === null ? {} : { provider_subject: provider.subject }),
      ...(provider === null || provider.sid === null ? {} : { provider_sid: provider.sid }),
    }),
  }),
  /** Stores of earlier versions have the webhook under this kind, so all readers keep it. */
  feedReaders: internal('webhook', { schema: FeedReader }),
  notificationTargets: internal('notification_target', {
    schema: StoredTarget,
    unique: { name: target => target.name },
  }),
  targetHealth: internal('target_health', { schema: StoredTargetHealth }),
  notifications: internal('notification', {
    schema: StoredNotification,
    unique: { key: notification => notification.key },
    facets: ({ status, target_id }) => ({
      status,
      target_id,
      ...(status === 'QUEUED' ? { queue: target_id } : {}),
      ...(status === 'DEAD' ? { dead: target_id } : {}),
    }),
  }),
}

export type CollectionName = keyof typeof RESOURCES
export type DocumentOf<N extends CollectionName> = (typeof RESOURCES)[N] extends Kind<infer T> ? T : never
export type Collections = { readonly [N in CollectionName]: Collection<DocumentOf<N>> }

const KINDS: { readonly [N in CollectionName]: Kind<DocumentOf<N>> } = RESOURCES
/** The compiler asks here for a row of every published kind of the contract. */
export const PUBLISHED: { readonly [N in ResourceName]: Published<DocumentOf<N>> } = RESOURCES
export const EVENTS: { readonly [N in EventResourceName]: WithEvents<DocumentOf<N>, EventData<N>> } = RESOURCES

/** Documents as this release stores them. Every store of the control plane is opened with it. */
export const STORE_SCHEMA: StoreSchema = { kinds: Object.values(RESOURCES), upgrades: UPGRADES }

/** Opens one collection of every kind. */
export function openCollections(store: Store): Collections {
  const open = <N extends CollectionName>(name: N) => store.collection<DocumentOf<N>>(KINDS[name])
  return Object.fromEntries(NAMES.map((name): [string, unknown] => [name, open(name)])) as Collections
}

/** Values of the facet `key` besides key ids. */
export const UNANSWERED = 'unanswered'
export const NO_KEY_ID = 'none'
const NOTHING_SEALED = 'nothing'
const keyFacet = (sealed: string | null): string => (sealed === null ? NOTHING_SEALED : (keyIdIn(sealed) ?? NO_KEY_ID))

/** One of them, with the type of its documents for code that is generic over kinds. */
export const collectionOf = <N extends CollectionName>(collections: Collections, name: N): Collection<DocumentOf<N>> =>
  collections[name]

const NAMES = Object.keys(RESOURCES) as CollectionName[]

/** Replicas find sessions by their position in the calendar before the feed has them. */
const calendarFacets = ({ admission: { number, at_risk } }: LabletSession): Record<string, string> => ({
  ...(number === null ? {} : { calendar_number: String(number) }),
  ...(at_risk === null ? {} : { at_risk: 'yes' }),
})

function workerFacets(worker: Worker): Record<string, string> {
  return {
    status: worker.status,
    health: workerHealth(worker).status,
    desired_status: worker.desired_status,
    aws_region: worker.aws_region,
    template_name: worker.template_name,
    name: worker.name,
    ...(worker.ec2_instance_id === null ? {} : { ec2_instance_id: worker.ec2_instance_id }),
    ...Object.fromEntries(Object.entries(worker.labels).map(([name, value]) => [`label:${name}`, value])),
    // Sessions with a reservation on this worker, and whether sessions wait for it.
    ...Object.fromEntries(Object.keys(worker.reservations).map(id => [`session:${id}`, 'reserved'])),
    ...(Object.keys(worker.reservations).length === 0 ? {} : { is_reserved: 'yes' }),
    ...(worker.wanted_by.length === 0 ? {} : { is_wanted: 'yes' }),
    ...(worker.license.seat === 'none' || worker.license.product === null ? {} : { pooled: worker.license.product }),
  }
}
