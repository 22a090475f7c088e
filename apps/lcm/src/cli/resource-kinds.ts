import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import { changedData, deletedId, type EventEnvelope } from '@lcm/contract/events'
import { type EventResourceName, RESOURCE_KINDS } from '@lcm/contract/resource-kinds'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import type { HealthStatus } from '@lcm/domain/health'
import { isGone, type LabRecord } from '@lcm/domain/lab/lab-record'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import type { DefinitionSummary } from './definition/definition-view.ts'
import { findDefinition, findLab, findSession, findTemplate, findWorker, notThere } from './find-resource.ts'
import { labColumns } from './lab/lab-view.ts'
import {
  DEFINITION_VIEW,
  LAB_VIEW,
  LEAK_VIEW,
  type Resource,
  type ResourceView,
  SERVICE_VIEW,
  SESSION_VIEW,
  TEMPLATE_VIEW,
  WORKER_VIEW,
} from './resource-view.ts'
import { isOtherService, readServices, type ServiceRecord } from './service/service-view.ts'
import { type SessionReader, sessionColumns } from './session/session-view.ts'
import type { Listing } from './watch-list.ts'
import { isLost, readLivingAndLost } from './worker/lost-workers.ts'

/** A kind of resource: how commands find, list and follow it. */
export interface Kind<T extends Resource> {
  readonly plural: string
  readonly singular: string
  readonly view: ResourceView<T>
  /** A view that shows worker names instead of ids, in words for its reader. */
  readonly viewFor?: (reader: SessionReader) => ResourceView<T>
  /** State of the items that only `--all` shows; null if there are none. */
  readonly hidden: string | null
  isHidden(item: T): boolean
  /** Present for kinds that can be filtered by health. */
  healthOf?(item: T): HealthStatus
  find(client: Client, idOrName: string, signal: AbortSignal): Promise<T>
  list(client: Client, all: boolean, signal: AbortSignal): Promise<Listing<T>>
  /** Polling interval for kinds without events, and whether a change is worth printing. */
  readonly everyMs?: number
  differs?(before: T, after: T): boolean
  /** The resource in an event, if it is of this kind. */
  changed(event: EventEnvelope): T | null
  /** The id in an event, if one of these was deleted. */
  deleted(event: EventEnvelope): string | null
}

/** Names and events of a published kind, from the table of the contract. */
export const publishedAs = <N extends EventResourceName>(name: N) => ({
  plural: name,
  singular: RESOURCE_KINDS[name].event.name,
  changed: (event: EventEnvelope) => changedData(name, event),
  deleted: (event: EventEnvelope) => deletedId(name, event),
})

export const WORKERS: Kind<Worker> = {
  view: WORKER_VIEW,
  hidden: 'TERMINATED',
  isHidden: worker => worker.status === 'TERMINATED' && !isLost(worker),
  healthOf: worker => workerHealth(worker).status,
  find: findWorker,
  list: (client, all, signal) =>
    all
      ? readList(page => client.call('listWorkers', { query: { ...page, include_terminated: true }, signal }))
      : readLivingAndLost(client, signal),
  ...publishedAs('workers'),
}

export const TEMPLATES: Kind<WorkerTemplate> = {
  view: TEMPLATE_VIEW,
  hidden: null,
  isHidden: () => false,
  find: findTemplate,
  list: (client, _, signal) => readList(query => client.call('listTemplates', { query, signal })),
  ...publishedAs('templates'),
}

export const DEFINITIONS: Kind<DefinitionSummary> = {
  view: DEFINITION_VIEW,
  hidden: 'DEPRECATED',
  isHidden: definition => definition.status === 'DEPRECATED',
  find: findDefinition,
  async list(client, all, signal) {
    const { items, revision } = await readList(query => client.call('listDefinitions', { query, signal }))
    return { items: items.filter(item => all || !DEFINITIONS.isHidden(item)), revision }
  },
  ...publishedAs('definitions'),
}

export const SESSIONS: Kind<LabletSession> = {
  view: SESSION_VIEW,
  viewFor: reader => ({ ...SESSION_VIEW, columns: (nowMs, colors) => sessionColumns(nowMs, colors, reader) }),
  hidden: 'finished',
  isHidden: session => isFinal(session.status),
  healthOf: session => session.health.status,
  find: findSession,
  list: (client, all, signal) =>
    readList(page => client.call('listSessions', { query: { ...page, include_finished: all }, signal })),
  ...publishedAs('sessions'),
}

export const LABS: Kind<LabRecord> = {
  view: LAB_VIEW,
  viewFor: ({ names }) => ({ ...LAB_VIEW, columns: (nowMs, colors) => labColumns(nowMs, colors, names) }),
  hidden: 'DELETED',
  isHidden: lab => isGone(lab.status),
  find: findLab,
  list: (client, all, signal) =>
    readList(page => client.call('listLabs', { query: { ...page, include_deleted: all }, signal })),
  ...publishedAs('labs'),
}

/** Interval of the heartbeats of services. */
const HEARTBEAT_MS = 5_000
const LEAKS_EVERY_MS = 15_000

export const SERVICES: Kind<ServiceRecord> = {
  plural: 'services',
  singular: 'service',
  view: SERVICE_VIEW,
  hidden: null,
  isHidden: () => false,
  async find(client, name, signal) {
    const found = (await readServices(client, signal)).find(({ service }) => service === name)
    if (found === undefined) throw notThere('service', name, 'lcm get services')
    return found
  },
  list: async (client, _, signal) => ({ items: await readServices(client, signal), revision: '' }),
  everyMs: HEARTBEAT_MS,
  differs: isOtherService,
  changed: () => null,
  deleted: () => null,
}

export const LEAKS: Kind<LicenseLeak> = {
  plural: 'leaks',
  singular: 'leak',
  view: LEAK_VIEW,
  hidden: 'resolved',
  isHidden: leak => leak.resolved_at !== null,
  async find(client, id, signal) {
    const { items } = await LEAKS.list(client, true, signal)
    const found = items.find(leak => leak.id === id)
    if (found === undefined) throw notThere('leak', id, 'lcm get leaks --all')
    return found
  },
  async list(client, all, signal) {
    const { items, revision } = await readList(query => client.call('listLicenseLeaks', { query, signal }))
    return { items: items.filter(leak => all || !LEAKS.isHidden(leak)), revision }
  },
  everyMs: LEAKS_EVERY_MS,
  changed: () => null,
  deleted: () => null,
}
