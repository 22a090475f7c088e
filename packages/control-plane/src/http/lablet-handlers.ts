import {
  createDefinition,
  deleteDefinition,
  deprecateDefinition,
  putDefinition,
} from '../resources/definition/commands.ts'
import { yieldToOthers } from '../resources/definition/definition-content.ts'
import { definitionView } from '../resources/definition/definition-view.ts'
import { previewPlacement } from '../resources/definition/placement-preview.ts'
import { getDefinition, listDefinitions } from '../resources/definition/queries.ts'
import { recordSync, requestSync } from '../resources/definition/sync.ts'
import { labGraphs } from '../resources/definition/topology/lab-graph.ts'
import { sessionDecisions } from '../resources/journal/queries.ts'
import { allocatePorts } from '../resources/lab/allocate-ports.ts'
import { bindLab } from '../resources/lab/bind-lab.ts'
import { discoverLabs } from '../resources/lab/discover-labs.ts'
import { getLab, labTopology, listLabs } from '../resources/lab/queries.ts'
import { reportLab } from '../resources/lab/report-lab.ts'
import { requestLabAction } from '../resources/lab/request-lab-action.ts'
import { assignSession } from '../resources/session/assign-session.ts'
import { createSession } from '../resources/session/create-session.ts'
import { getSession, listMySessions, listSessions } from '../resources/session/queries.ts'
import { releaseSession } from '../resources/session/release-session.ts'
import { reportSession } from '../resources/session/report-session.ts'
import { cancelSession, extendSession, requeueSession, retrySession } from '../resources/session/session-commands.ts'
import { resumeWorker } from '../resources/worker/resume-worker.ts'
import { workerView } from '../resources/worker/worker-view.ts'
import type { StoredDefinition } from '../stored-documents.ts'
import type { Api } from './api.ts'
import type { HandlerMap } from './handlers.ts'

const shown = async (changed: Promise<StoredDefinition>) => definitionView(await changed)

/** What can be booked, what is booked, and the labs that come of it. */
export const labletHandlers = (api: Api) => {
  const graphOf = labGraphs(yieldToOthers(api))
  return {
    listDefinitions: request => listDefinitions(api, request.query),
    createDefinition: request => shown(createDefinition(api, request)),
    getDefinition: request => getDefinition(api, request.params.id, graphOf),
    putDefinition: request => shown(putDefinition(api, request)),
    deleteDefinition: request => deleteDefinition(api, request),
    syncDefinition: request => shown(requestSync(api, request)),
    deprecateDefinition: request => shown(deprecateDefinition(api, request)),
    previewPlacement: request => previewPlacement(api, request.params.id),
    listSessions: request => listSessions(api, request),
    listMySessions: request => listMySessions(api, request),
    createSession: request => createSession(api, request),
    getSession: ({ params, actor }) => getSession(api, params.id, actor),
    cancelSession: request => cancelSession(api, request),
    extendSession: request => extendSession(api, request),
    requeueSession: request => requeueSession(api, request),
    retrySession: request => retrySession(api, request),
    getSessionDecisions: request => sessionDecisions(api, request),
    listLabs: request => listLabs(api, request),
    getLab: ({ params, actor }) => getLab(api, params.id, actor),
    getLabTopology: ({ params, actor }) => labTopology(api, params.id, actor),
    startLab: request => requestLabAction(api, request, 'start'),
    stopLab: request => requestLabAction(api, request, 'stop'),
    wipeLab: request => requestLabAction(api, request, 'wipe'),
    deleteLab: request => requestLabAction(api, request, 'delete'),
  } satisfies Partial<HandlerMap>
}

/** For the controllers of sessions. */
export const labletControllerHandlers = (api: Api) =>
  ({
    assignSession: request => assignSession(api, request),
    resumeWorker: async request => workerView(api, await resumeWorker(api, request)),
    reportSession: request => reportSession(api, request),
    bindLab: request => bindLab(api, request),
    releaseSession: request => releaseSession(api, request),
    allocatePorts: request => allocatePorts(api, request),
    reportLab: request => reportLab(api, request),
    discoverLabs: request => discoverLabs(api, request),
    recordSync: request => shown(recordSync(api, request)),
  }) satisfies Partial<HandlerMap>
