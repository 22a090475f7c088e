import type { Api } from './api.ts'
import { turnsOf } from './commands/definitions/definition-content.ts'
import {
  createDefinition,
  deleteDefinition,
  deprecateDefinition,
  putDefinition,
} from './commands/definitions/definitions.ts'
import { recordSync, requestSync } from './commands/definitions/sync.ts'
import { allocatePorts } from './commands/labs/allocate-ports.ts'
import { bindLab } from './commands/labs/bind-lab.ts'
import { discoverLabs } from './commands/labs/discover-labs.ts'
import { askOfLab } from './commands/labs/lab-requests.ts'
import { reportLab } from './commands/labs/report-lab.ts'
import { assignSession } from './commands/sessions/assign-session.ts'
import { createSession } from './commands/sessions/create-session.ts'
import { releaseSession } from './commands/sessions/release-session.ts'
import { reportSession } from './commands/sessions/report-session.ts'
import { resumeWorker } from './commands/sessions/resume-worker.ts'
import { cancelSession, extendSession, requeueSession, retrySession } from './commands/sessions/session-requests.ts'
import type { HandlerMap } from './handlers.ts'
import type { StoredDefinition } from './kinds.ts'
import { getDefinition, listDefinitions, shownDefinition } from './queries/definitions.ts'
import { sessionDecisions } from './queries/journal.ts'
import { getLab, labTopology, listLabs } from './queries/labs.ts'
import { previewPlacement } from './queries/placement-preview.ts'
import { getSession, listMySessions, listSessions } from './queries/sessions.ts'
import { viewOf } from './queries/workers.ts'
import { labGraphs } from './topology/lab-graph.ts'

const shown = async (changed: Promise<StoredDefinition>) => shownDefinition(await changed)

/** What can be booked, what is booked, and the labs that come of it. */
export const labletHandlers = (api: Api) => {
  const graphOf = labGraphs(turnsOf(api))
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
    startLab: request => askOfLab(api, request, 'start'),
    stopLab: request => askOfLab(api, request, 'stop'),
    wipeLab: request => askOfLab(api, request, 'wipe'),
    deleteLab: request => askOfLab(api, request, 'delete'),
  } satisfies Partial<HandlerMap>
}

/** For the controllers of sessions. */
export const labletControllerHandlers = (api: Api) =>
  ({
    assignSession: request => assignSession(api, request),
    resumeWorker: async request => viewOf(api, await resumeWorker(api, request)),
    reportSession: request => reportSession(api, request),
    bindLab: request => bindLab(api, request),
    releaseSession: request => releaseSession(api, request),
    allocatePorts: request => allocatePorts(api, request),
    reportLab: request => reportLab(api, request),
    discoverLabs: request => discoverLabs(api, request),
    recordSync: request => shown(recordSync(api, request)),
  }) satisfies Partial<HandlerMap>
