import type { SIM_CONTROL_PATH } from '@lcm/contract/bodies'
import type { AnswerOf, BodyOf, ParamsOf, QueryOf, RouteName } from '@lcm/contract/routes'
import type { Worker } from '@lcm/domain/worker/worker'
import type { AccessControl } from '../access/access-control.ts'
import { LOGIN_CODE_MS } from '../access/login-codes.ts'
import { createBackup, type MakeBackup } from '../backup.ts'
import type { EventStreams } from '../changes/events.ts'
import { fleetCost } from '../resources/fleet/fleet-cost.ts'
import { fleetSummary } from '../resources/fleet/fleet-summary.ts'
import { checkWorkerIdle } from '../resources/fleet/idle-check.ts'
import { reportLicenseLeak, resolveLicenseLeak } from '../resources/fleet/license-leaks.ts'
import { permitOrphanTermination } from '../resources/fleet/orphan-terminations.ts'
import { scaleUp } from '../resources/fleet/scale-up.ts'
import { listAudit, workerDecisions, workerHistory } from '../resources/journal/queries.ts'
import { stopLabsOf } from '../resources/lab/stop-labs.ts'
import { asMade, type OtherStatus } from '../resources/other-status.ts'
import { listPage } from '../resources/page.ts'
import { deregisterLicense, registerLicense, setCredentials, workerSecrets } from '../resources/secret/commands.ts'
import { reportInstance, requestOfLeader } from '../resources/service/commands.ts'
import { fleetPlan, listServices } from '../resources/service/queries.ts'
import { registerTerm, resetTerm } from '../resources/service/terms.ts'
import { patchSettings } from '../resources/settings/commands.ts'
import { getSettings } from '../resources/settings/queries.ts'
import { createTemplate, deleteTemplate, putTemplate, switchTemplate } from '../resources/template/commands.ts'
import { getTemplate, listTemplates, templateUserData } from '../resources/template/queries.ts'
import { createToken, deleteToken } from '../resources/token/commands.ts'
import { listTokens } from '../resources/token/queries.ts'
import { workerActivity } from '../resources/worker/activity.ts'
import { cleanUpWorkers } from '../resources/worker/clean-up-workers.ts'
import { createWorker } from '../resources/worker/create-worker.ts'
import { deleteWorker } from '../resources/worker/delete-worker.ts'
import { cancelDrain, drainWorker } from '../resources/worker/drain.ts'
import { importWorker } from '../resources/worker/import-worker.ts'
import { getWorker, listWorkers } from '../resources/worker/queries.ts'
import { openLaunchAttempt, reportStatus } from '../resources/worker/report-status.ts'
import { setDesiredStatus } from '../resources/worker/set-desired-status.ts'
import { recordDecisions, reportMetrics } from '../resources/worker/telemetry.ts'
import { workerMetrics } from '../resources/worker/telemetry-queries.ts'
import { patchWorker, refreshWorker, repinWorker, retryWorker } from '../resources/worker/worker-commands.ts'
import { workerView } from '../resources/worker/worker-view.ts'
import type { Api, Request } from './api.ts'
import type { JsonBytes } from './json-page.ts'
import { labletControllerHandlers, labletHandlers } from './lablet-handlers.ts'

type RequestOf<N extends RouteName> = Request<ParamsOf<N>, QueryOf<N>, BodyOf<N>>
type Streaming = 'events' | 'createBackup'
export type HandlerMap = {
  [N in Exclude<RouteName, Streaming>]: (
    request: RequestOf<N>,
  ) => Promise<AnswerOf<N> | OtherStatus<AnswerOf<N>> | JsonBytes<AnswerOf<N>>>
} & {
  events: (request: RequestOf<'events'>) => Promise<AsyncIterable<string>>
  createBackup: (request: RequestOf<'createBackup'>) => Promise<AsyncIterable<Uint8Array>>
}
/** A request whose parts have been parsed by the route's own schemas. */
export type RawRequest = Request<Record<string, string>, unknown, unknown>
/** A method's parameter may be narrower: the dispatcher parses each part with the schema that the handler's types come from. */
export type Handler = { handle(request: RawRequest): Promise<unknown> }['handle']
export type Handlers = Readonly<Record<RouteName, Handler>>

export interface HandlerParts {
  readonly api: Api
  readonly access: AccessControl
  readonly events: EventStreams
  /** Reads a consistent copy of everything; refuses where the store has its own tools for that. */
  readonly backup: MakeBackup
  /** Where the simulated cloud can be acted on; null where it can not. */
  readonly simControl: typeof SIM_CONTROL_PATH | null
}

/** Every route of the contract and what it does: the table of contents of the API. */
export function handlers(parts: HandlerParts): Handlers {
  const { api } = parts
  const all: HandlerMap = {
    ...workerHandlers(api),
    ...fleetHandlers(api),
    ...systemHandlers(parts),
    ...controllerHandlers(api),
    ...labletHandlers(api),
    ...labletControllerHandlers(api),
  }
  return all
}

const workerHandlers = (api: Api) => {
  const shown = async (changed: Promise<Worker>) => workerView(api, await changed)
  return {
    listWorkers: request => listWorkers(api, request),
    createWorker: request => shown(createWorker(api, request)),
    getWorker: request => getWorker(api, request.params.id, request.actor),
    patchWorker: request => shown(patchWorker(api, request)),
    deleteWorker: request => deleteWorker(api, request),
    startWorker: request => shown(setDesiredStatus(api, request, 'RUNNING')),
    stopWorker: request => shown(setDesiredStatus(api, request, 'STOPPED')),
    terminateWorker: request => shown(setDesiredStatus(api, request, 'TERMINATED')),
    drainWorker: request => shown(drainWorker(api, request)),
    cancelDrainWorker: request => shown(cancelDrain(api, request)),
    refreshWorker: request => shown(refreshWorker(api, request)),
    retryWorker: request => shown(retryWorker(api, request)),
    repinWorker: request => shown(repinWorker(api, request)),
    putWorkerLicense: request => shown(registerLicense(api, request)),
    deleteWorkerLicense: request => shown(deregisterLicense(api, request)),
    putWorkerCredentials: request => setCredentials(api, request),
    getWorkerHistory: request => workerHistory(api, request),
    getWorkerDecisions: request => workerDecisions(api, request),
    getWorkerMetrics: ({ params, query }) => workerMetrics(api, params.id, query),
    getWorkerActivity: ({ params }) => workerActivity(api, params.id),
  } satisfies Partial<HandlerMap>
}

const fleetHandlers = (api: Api) =>
  ({
    listTemplates: request => listTemplates(api, request.query),
    createTemplate: request => createTemplate(api, request),
    getTemplate: request => getTemplate(api, request.params.name),
    putTemplate: request => putTemplate(api, request),
    deleteTemplate: request => deleteTemplate(api, request),
    enableTemplate: request => switchTemplate(api, request, true),
    disableTemplate: request => switchTemplate(api, request, false),
    getFleetSummary: request => fleetSummary(api, request.query),
    getFleetCost: request => fleetCost(api, request.query),
    getFleetPlan: request => fleetPlan(api, request.actor),
    listServices: () => listServices(api),
    triggerService: request => requestOfLeader(api, request, 'triggers'),
    resignService: request => requestOfLeader(api, request, 'resignations'),
    getSettings: () => getSettings(api),
    patchSettings: request => patchSettings(api, request),
    listLicenseLeaks: request => listPage(api, api.leaks, request.query, {}),
    resolveLicenseLeak: request => resolveLicenseLeak(api, request),
  }) satisfies Partial<HandlerMap>

const systemHandlers = ({ api, access, events, backup, simControl }: HandlerParts) =>
  ({
    listTokens: request => listTokens(api, request.query),
    createToken: request => createToken(api, request),
    deleteToken: request => deleteToken(api, request).finally(access.forgetTokens),
    listAudit: request => listAudit(api, request.query),
    events: async ({ lastEventId, query, actor, signal }) =>
      events.open({ after: lastEventId ?? query.after ?? null, query, actor, signal }),
    info: async ({ actor: { id, name, role } }) => {
      const { version, profile, cloud, regions } = api.config
      const sim_control = simControl
      return { version, profile, cloud, regions: [...regions], sim_control, actor: { id, name, role } }
    },
    createLoginLink: async ({ actor }) => ({
      url: `/login?code=${await access.createLoginCode(actor)}`,
      expires_in_seconds: LOGIN_CODE_MS / 1000,
    }),
    createBackup: request => createBackup(api, request, backup),
  }) satisfies Partial<HandlerMap>

const controllerHandlers = (api: Api) => {
  const shown = async (changed: Promise<Worker>) => workerView(api, await changed)
  return {
    reportWorkerStatus: request => shown(reportStatus(api, request)),
    openLaunchAttempt: request => shown(openLaunchAttempt(api, request)),
    reportWorkerMetrics: request => reportMetrics(api, request),
    checkWorkerIdle: request => checkWorkerIdle(api, request),
    stopWorkerLabs: request => stopLabsOf(api, request),
    importWorker: async request => {
      const { worker, isNew } = await importWorker(api, request)
      return asMade(await workerView(api, worker), isNew)
    },
    scaleUp: async request => {
      const { answer, isNew } = await scaleUp(api, request)
      return asMade(answer, isNew)
    },
    cleanUpWorkers: request => cleanUpWorkers(api, request),
    getWorkerSecrets: request => workerSecrets(api, request),
    getTemplateUserData: request => templateUserData(api, request),
    permitOrphanTermination: request => permitOrphanTermination(api, request),
    reportLicenseLeak: async request => {
      const { leak, isNew } = await reportLicenseLeak(api, request)
      return asMade(leak, isNew)
    },
    recordDecisions: request => recordDecisions(api, request),
    reportInstance: request => reportInstance(api, request),
    registerTerm: request => registerTerm(api, request),
    resetTerm: request => resetTerm(api, request),
  } satisfies Partial<HandlerMap>
}
