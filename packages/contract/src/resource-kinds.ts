import { LabRecord } from '@lcm/domain/lab/lab-record'
import { Save } from '@lcm/domain/save/save'
import { LabletSession } from '@lcm/domain/session/lablet-session'
import { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { z } from 'zod'
import { SettingsView } from './administration.ts'
import { PlanSummary } from './calendar/plan.ts'
import { DefinitionSummary } from './definition.ts'
import { WorkerView } from './worker.ts'

interface ResourceKind {
  /** Name in the store, in journal subjects and in secrets. */
  readonly kind: string
  /** Prefix of its change keys; controllers watch below it. */
  readonly keyPrefix: string
  /** Its events and the schema of their data; null when clients poll it instead. */
  readonly event: { readonly name: string; readonly view: z.ZodType; readonly isDeletable: boolean } | null
}

/**
 * One row per kind of resource whose changes are published, by the name of its list. Change keys, event types and the kinds of
 * the command line follow from it; the control plane adds how each kind is stored.
 */
export const RESOURCE_KINDS = {
  workers: {
    kind: 'worker',
    keyPrefix: '/lcm/workers/',
    event: { name: 'worker', view: WorkerView, isDeletable: true },
  },
  templates: {
    kind: 'template',
    keyPrefix: '/lcm/templates/',
    event: { name: 'template', view: WorkerTemplate, isDeletable: true },
  },
  settings: {
    kind: 'settings',
    keyPrefix: '/lcm/settings/',
    event: { name: 'settings', view: SettingsView, isDeletable: false },
  },
  definitions: {
    kind: 'definition',
    keyPrefix: '/lcm/definitions/',
    event: { name: 'definition', view: DefinitionSummary, isDeletable: true },
  },
  sessions: {
    kind: 'session',
    keyPrefix: '/lcm/sessions/',
    event: { name: 'session', view: LabletSession, isDeletable: true },
  },
  saves: {
    kind: 'save',
    keyPrefix: '/lcm/saves/',
    event: { name: 'save', view: Save, isDeletable: true },
  },
  labs: {
    kind: 'lab_record',
    keyPrefix: '/lcm/lab-records/',
    event: { name: 'lab', view: LabRecord, isDeletable: true },
  },
  plans: {
    kind: 'plan',
    keyPrefix: '/lcm/plans/',
    event: { name: 'plan', view: PlanSummary, isDeletable: false },
  },
  services: { kind: 'service', keyPrefix: '/lcm/services/', event: null },
} as const satisfies Readonly<Record<string, ResourceKind>>

/** Name of a published list, such as `workers`. */
export type ResourceName = keyof typeof RESOURCE_KINDS
type Row<N extends ResourceName> = (typeof RESOURCE_KINDS)[N]
/** Published lists that send events. */
export type EventResourceName = { [N in ResourceName]: Row<N>['event'] extends null ? never : N }[ResourceName]
/** First part of an event type, such as `worker` of `worker.updated`. */
export type EventName<N extends EventResourceName = EventResourceName> = Row<N>['event']['name']
/** Data of the events of one resource. */
export type EventData<N extends EventResourceName> = z.infer<Row<N>['event']['view']>

export const RESOURCE_NAMES = Object.keys(RESOURCE_KINDS) as ResourceName[]
export const EVENT_RESOURCE_NAMES = RESOURCE_NAMES.filter(
  (name): name is EventResourceName => RESOURCE_KINDS[name].event !== null,
)

/** Prefixes of the change keys, one key per resource. Controllers watch below these prefixes. */
export const CHANGE_KEYS = Object.fromEntries(RESOURCE_NAMES.map(name => [name, RESOURCE_KINDS[name].keyPrefix])) as {
  readonly [N in ResourceName]: (typeof RESOURCE_KINDS)[N]['keyPrefix']
}

/** Common prefix of all change keys. */
export const CHANGE_KEY_ROOT = '/lcm/'
