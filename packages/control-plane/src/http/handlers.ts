import type { SIM_CONTROL_PATH } from '@lcm/contract/administration'
import type { RouteName } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { AccessControl } from '../access/access-control.ts'
import { LOGIN_CODE_MS, loginLinkOf } from '../access/login-codes.ts'
import type { Api, Reply, Request } from '../api-context.ts'
import type { EventStreams } from '../changes/events.ts'
import { createBackup, type MakeBackup } from '../create-backup.ts'
import type { StoredDefinition } from '../internal-documents.ts'
import { rotateKey } from '../keys/rotate-key.ts'
import { previewFor, sessionFor } from '../narrow-view.ts'
import { fleetCalendar } from '../resources/calendar/fleet-calendar.ts'
import { fleetUsage } from '../resources/calendar/fleet-usage.ts'
import { previewAdmission } from '../resources/calendar/preview-admission.ts'
import { previewCapacity } from '../resources/calendar/preview-capacity.ts'
import {
  createDefinition,
  deleteDefinition,
  deprecateDefinition,
  putDefinition,
} from '../resources/definition/commands.ts'
import { yieldToOthers } from '../resources/definition/definition-content.ts'
import { definitionView } from '../resources/definition/definition-view.ts'
import { warningsOf } from '../resources/definition/definition-warnings.ts'
import { previewPlacement } from '../resources/definition/placement-preview.ts'
import { getDefinition, listDefinitions } from '../resources/definition/queries.ts'
import { requestSync } from '../resources/definition/sync-definition.ts'
import { labGraphs } from '../resources/definition/topology/lab-graph.ts'
import { fleetCost } from '../resources/fleet/fleet-cost.ts'
import { fleetSummary } from '../resources/fleet/fleet-summary.ts'
import { fleetWarnings } from '../resources/fleet/fleet-warnings.ts'
import { listLicenseLeaks, resolveLicenseLeak } from '../resources/fleet/license-leaks.ts'
import { listAudit, sessionDecisions, workerDecisions, workerHistory } from '../resources/journal/queries.ts'
import { getLab, labTopology, listLabs } from '../resources/lab/queries.ts'
import { requestLabAction } from '../resources/lab/request-lab-action.ts'
import {
  createLicensePool,
  deleteLicensePool,
  listLicensePools,
  putLicensePool,
  readLicensePool,
} from '../resources/license/license-pools.ts'
import { discardNotification, retryNotification } from '../resources/notification/notification-commands.ts'
import { getTarget, listNotifications, listTargets, targetView } from '../resources/notification/queries.ts'
import type { NotificationSetting } from '../resources/notification/send-message.ts'
import { createTarget, deleteTarget, patchTarget, testTarget } from '../resources/notification/target-commands.ts'
import { createPerson, invitedPerson, patchPerson, removePerson, revokePerson } from '../resources/person/commands.ts'
import { mergePerson } from '../resources/person/merge-people.ts'
import { getPerson, listPeople } from '../resources/person/queries.ts'
import { getPlan } from '../resources/plan/queries.ts'
import { patchQuota } from '../resources/quota/patch-quota.ts'
import { getQuota, listQuotas } from '../resources/quota/queries.ts'
import { deleteSave } from '../resources/save/delete-save.ts'
import { getSave, listSaves, saveTopology } from '../resources/save/queries.ts'
import { saveSession } from '../resources/save/request-save.ts'
import { deregisterLicense, registerLicense, setCredentials } from '../resources/secret/secrets-and-licenses.ts'
import { requestOfLeader } from '../resources/service/commands.ts'
import { fleetPlan, listServices } from '../resources/service/queries.ts'
import { createSession, createSessions } from '../resources/session/create-session.ts'
import { getSession, listMySessions, listSessions } from '../resources/session/queries.ts'
import {
  cancelSession,
  extendSession,
  moveSession,
  requeueSession,
  retrySession,
} from '../resources/session/session-lifecycle-commands.ts'
import { patchSettings } from '../resources/settings/patch-settings.ts'
import { getSettings } from '../resources/settings/queries.ts'
import { createTemplate, deleteTemplate, putTemplate, switchTemplate } from '../resources/template/commands.ts'
import { listTemplates, readTemplate } from '../resources/template/queries.ts'
import { listTimings } from '../resources/timing/queries.ts'
import { createToken, deleteToken } from '../resources/token/commands.ts'
import { listTokens } from '../resources/token/queries.ts'
import { approveWorker, repinWorker } from '../resources/worker/approve-worker.ts'
import { createWorker } from '../resources/worker/create-worker.ts'
import { deleteWorker } from '../resources/worker/delete-worker-records.ts'
import { cancelDrain, drainWorker } from '../resources/worker/drain-worker.ts'
import { patchWorker } from '../resources/worker/patch-worker.ts'
import { getWorker, listWorkers, workerActivity } from '../resources/worker/queries.ts'
import { refreshWorker } from '../resources/worker/refresh-worker.ts'
import { retryWorker } from '../resources/worker/retry-worker.ts'
import { setDesiredStatus } from '../resources/worker/set-desired-status.ts'
import { workerMetrics } from '../resources/worker/worker-metrics.ts'
import { workerView } from '../resources/worker/worker-view.ts'
import { labletControllerHandlers, workerControllerHandlers } from './controller-handlers.ts'
import { created, empty, encoded, file, type Handle, type HandlerMap, json, stream } from './handler-kinds.ts'

/** A request whose parts were validated with the schemas of its route. */
export type RawRequest = Request<Record<string, string>, unknown, unknown>
/**
 * A method's parameter may be narrower: the dispatcher validates each part with the schema that the handler's types come from.
 */
export type Handler = { handle(request: RawRequest): Promise<Reply> }['handle']
export type Handlers = Readonly<Record<RouteName, Handler>>

export interface HandlerParts {
  readonly api: Api
  readonly access: AccessControl
  readonly events: EventStreams
  /** Reads a consistent copy of the store; refuses where the store has its own backup tools. */
  readonly backup: MakeBackup
  readonly notify: { readonly setting: NotificationSetting; readonly publicUrl: string | null }
  /** Path of the simulator's control API; null without a simulator. */
  readonly simControl: typeof SIM_CONTROL_PATH | null
}

/** Every route of the contract and its handler: the table of contents of the API. */
export function handlers(parts: HandlerParts): Handlers {
  const { api } = parts
  const all: HandlerMap = {
    ...workerHandlers(api),
    ...fleetHandlers(api),
    ...definitionHandlers(api),
    ...sessionHandlers(api),
    ...labHandlers(api),
    ...personHandlers(parts),
    ...notificationHandlers(parts),
    ...systemHandlers(parts),
    ...workerControllerHandlers(api),
    ...labletControllerHandlers(api),
  }
  return all
}

const workerHandlers = (api: Api) => {
  const view = async (changed: Promise<Worker>) => workerView(api, await changed)
  return {
    listWorkers: encoded(request => listWorkers(api, request)),
    createWorker: created(request => view(createWorker(api, request))),
    getWorker: json(request => getWorker(api, request.params.id, request.actor)),
    patchWorker: json(request => view(patchWorker(api, request))),
    deleteWorker: empty(request => deleteWorker(api, request)),
    startWorker: json(request => view(setDesiredStatus(api, request, 'RUNNING'))),
    stopWorker: json(request => view(setDesiredStatus(api, request, 'STOPPED'))),
    terminateWorker: json(request => view(setDesiredStatus(api, request, 'TERMINATED'))),
    drainWorker: json(request => view(drainWorker(api, request))),
    cancelDrainWorker: json(request => view(cancelDrain(api, request))),
    refreshWorker: json(request => view(refreshWorker(api, request))),
    retryWorker: json(request => view(retryWorker(api, request))),
    approveWorker: json(request => view(approveWorker(api, request))),
    repinWorker: json(request => view(repinWorker(api, request))),
    putWorkerLicense: json(request => view(registerLicense(api, request))),
    deleteWorkerLicense: json(request => view(deregisterLicense(api, request))),
    putWorkerCredentials: empty(request => setCredentials(api, request)),
    getWorkerHistory: json(request => workerHistory(api, request)),
    getWorkerDecisions: json(request => workerDecisions(api, request)),
    getWorkerMetrics: json(({ params, query }) => workerMetrics(api, params.id, query)),
    getWorkerActivity: json(({ params, actor }) => workerActivity(api, params.id, actor)),
  } satisfies Partial<HandlerMap>
}

const fleetHandlers = (api: Api) =>
  ({
    listTemplates: json(request => listTemplates(api, request)),
    createTemplate: created(request => createTemplate(api, request)),
    getTemplate: json(({ params, actor }) => readTemplate(api, params.name, actor)),
    putTemplate: json(request => putTemplate(api, request)),
    deleteTemplate: empty(request => deleteTemplate(api, request)),
    enableTemplate: json(request => switchTemplate(api, request, true)),
    disableTemplate: json(request => switchTemplate(api, request, false)),
    previewCapacity: json(request => previewCapacity(api, request)),
    getFleetWarnings: json(() => fleetWarnings(api)),
    getFleetSummary: json(request => fleetSummary(api, request.query)),
    getFleetCost: json(request => fleetCost(api, request.query)),
    getFleetUsage: json(request => fleetUsage(api, request.query)),
    getCalendar: json(request => fleetCalendar(api, request.query)),
    getPlan: json(() => getPlan(api)),
    getFleetPlan: json(request => fleetPlan(api, request.actor)),
    listTimings: json(request => listTimings(api, request)),
    listServices: json(({ actor }) => listServices(api, actor)),
    triggerService: json(request => requestOfLeader(api, request, 'triggers')),
    resignService: json(request => requestOfLeader(api, request, 'resignations')),
    getSettings: json(({ actor }) => getSettings(api, actor)),
    patchSettings: json(request => patchSettings(api, request)),
    listLicensePools: json(request => listLicensePools(api, request)),
    createLicensePool: created(request => createLicensePool(api, request)),
    getLicensePool: json(request => readLicensePool(api, request)),
    putLicensePool: json(request => putLicensePool(api, request)),
    deleteLicensePool: empty(request => deleteLicensePool(api, request)),
    listLicenseLeaks: json(request => listLicenseLeaks(api, request)),
    resolveLicenseLeak: json(request => resolveLicenseLeak(api, request)),
  }) satisfies Partial<HandlerMap>

const definitionHandlers = (api: Api) => {
  const view = async (changed: Promise<StoredDefinition>) => {
    const definition = definitionView(await changed)
    return { ...definition, warnings: await warningsOf(api, definition) }
  }
  const graphOf = labGraphs(yieldToOthers(api))
  return {
    listDefinitions: json(request => listDefinitions(api, request)),
    createDefinition: created(request => view(createDefinition(api, request))),
    getDefinition: json(({ params, actor }) => getDefinition(api, { id: params.id, actor }, graphOf)),
    putDefinition: json(request => view(putDefinition(api, request))),
    deleteDefinition: empty(request => deleteDefinition(api, request)),
    syncDefinition: json(request => view(requestSync(api, request))),
    deprecateDefinition: json(request => view(deprecateDefinition(api, request))),
    previewAdmission: json(request => previewAdmission(api, request)),
    previewPlacement: json(async ({ params, query, actor }) =>
      previewFor(actor, await previewPlacement(api, params.id, query)),
    ),
  } satisfies Partial<HandlerMap>
}

/** Learners don't read how the scheduler decides, whatever they request. */
const asReadBy =
  <R extends { readonly actor: Actor }>(handle: Handle<R, LabletSession>): Handle<R, LabletSession> =>
  async request =>
    sessionFor(request.actor, await handle(request))

const sessionHandlers = (api: Api) =>
  ({
    listSessions: json(request => listSessions(api, request)),
    listMySessions: json(request => listMySessions(api, request)),
    createSession: created(asReadBy(request => createSession(api, request))),
    createSessions: created(async request => {
      const { items } = await createSessions(api, request)
      return { items: items.map(session => sessionFor(request.actor, session)) }
    }),
    getSession: json(asReadBy(({ params, actor }) => getSession(api, params.id, actor))),
    cancelSession: json(asReadBy(request => cancelSession(api, request))),
    extendSession: json(asReadBy(request => extendSession(api, request))),
    requeueSession: json(asReadBy(request => requeueSession(api, request))),
    moveSession: json(asReadBy(request => moveSession(api, request))),
    retrySession: json(asReadBy(request => retrySession(api, request))),
    getSessionDecisions: json(request => sessionDecisions(api, request)),
    saveSession: json(asReadBy(request => saveSession(api, request))),
    listSaves: json(request => listSaves(api, request)),
    getSave: json(({ params, actor }) => getSave(api, params.id, actor)),
    getSaveTopology: json(({ params, actor }) => saveTopology(api, params.id, actor)),
    deleteSave: empty(request => deleteSave(api, request)),
    listQuotas: json(request => listQuotas(api, request)),
    getQuota: json(({ params, actor }) => getQuota(api, params.owner, actor)),
    patchQuota: json(request => patchQuota(api, request)),
  }) satisfies Partial<HandlerMap>

const labHandlers = (api: Api) =>
  ({
    listLabs: json(request => listLabs(api, request)),
    getLab: json(({ params, actor }) => getLab(api, params.id, actor)),
    getLabTopology: json(({ params, actor }) => labTopology(api, params.id, actor)),
    startLab: json(request => requestLabAction(api, request, 'start')),
    stopLab: json(request => requestLabAction(api, request, 'stop')),
    wipeLab: json(request => requestLabAction(api, request, 'wipe')),
    deleteLab: json(request => requestLabAction(api, request, 'delete')),
  }) satisfies Partial<HandlerMap>

const loginLink = (code: string) => ({ url: loginLinkOf(code), expires_in_seconds: LOGIN_CODE_MS / 1000 })

const personHandlers = ({ api, access }: HandlerParts) => {
  /** Changes take effect at once in this process. */
  const applied = <T>(work: Promise<T>): Promise<T> => work.finally(access.forgetCredentials)
  return {
    listPeople: json(request => listPeople(api, request.query)),
    createPerson: created(request => createPerson(api, request)),
    getPerson: json(request => getPerson(api, request.params.id)),
    patchPerson: json(request => applied(patchPerson(api, request))),
    removePerson: empty(request => applied(removePerson(api, request))),
    revokePerson: json(request => applied(revokePerson(api, request))),
    invitePerson: created(async request => loginLink(await access.createInvitation(await invitedPerson(api, request)))),
    mergePerson: json(request => applied(mergePerson(api, request))),
    listTokens: json(request => listTokens(api, request.query)),
    createToken: created(request => createToken(api, request)),
    deleteToken: empty(request => applied(deleteToken(api, request))),
    createLoginLink: created(async ({ actor, origin }) => loginLink(await access.createLoginCode(actor, origin))),
  } satisfies Partial<HandlerMap>
}

const systemHandlers = ({ api, events, backup, simControl }: HandlerParts) =>
  ({
    listAudit: json(request => listAudit(api, request.query)),
    events: stream(({ lastEventId, query, actor, signal }) =>
      events.open({ after: lastEventId ?? query.after ?? null, query, actor, signal }),
    ),
    info: json(async ({ actor: { id, name, role } }) => {
      const { version, profile, cloud, regions } = api.config
      return { version, profile, cloud, regions: [...regions], sim_control: simControl, actor: { id, name, role } }
    }),
    rotateSecretKey: json(request => rotateKey(api, request)),
    createBackup: file(request => createBackup(api, request, backup)),
  }) satisfies Partial<HandlerMap>

const notificationHandlers = ({ api, notify }: HandlerParts) =>
  ({
    listNotificationTargets: json(request => listTargets(api, request)),
    createNotificationTarget: created(request => createTarget(api, request)),
    getNotificationTarget: json(async ({ params }) => targetView(api, await getTarget(api, params.id))),
    patchNotificationTarget: json(request => patchTarget(api, request)),
    deleteNotificationTarget: empty(request => deleteTarget(api, request)),
    testNotificationTarget: json(request => testTarget(api, notify, request)),
    listNotifications: json(request => listNotifications(api, request)),
    retryNotification: json(request => retryNotification(api, request)),
    deleteNotification: empty(request => discardNotification(api, request)),
  }) satisfies Partial<HandlerMap>
