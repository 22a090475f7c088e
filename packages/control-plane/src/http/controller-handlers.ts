import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../api-context.ts'
import { definitionView } from '../resources/definition/definition-view.ts'
import { recordSync } from '../resources/definition/sync-definition.ts'
import { checkWorkerIdle } from '../resources/fleet/idle-check.ts'
import { reportLicenseLeak } from '../resources/fleet/license-leaks.ts'
import { permitOrphanTermination } from '../resources/fleet/permit-orphan-termination.ts'
import { scaleUp } from '../resources/fleet/scale-up.ts'
import { recordDecisions } from '../resources/journal/entries.ts'
import { allocatePorts } from '../resources/lab/allocate-ports.ts'
import { bindLab } from '../resources/lab/bind-lab-to-session.ts'
import { discoverLabs } from '../resources/lab/discover-labs.ts'
import { reportLab } from '../resources/lab/report-lab.ts'
import { stopLabsOf } from '../resources/lab/stop-labs.ts'
import { putPlan } from '../resources/plan/put-plan.ts'
import { storeSave } from '../resources/save/store-save.ts'
import { secretReads } from '../resources/secret/secret-reads.ts'
import { workerSecrets } from '../resources/secret/secrets-and-licenses.ts'
import { reportInstance } from '../resources/service/commands.ts'
import { registerTerm, resetTerm } from '../resources/service/term-fencing.ts'
import { assignSession } from '../resources/session/assign-session.ts'
import { releaseSession } from '../resources/session/release-session.ts'
import { reportSession } from '../resources/session/report-session.ts'
import { templateUserData } from '../resources/template/queries.ts'
import { cleanUpWorkers } from '../resources/worker/delete-worker-records.ts'
import { importWorker } from '../resources/worker/import-worker.ts'
import { openLaunchAttempt, reportStatus } from '../resources/worker/report-status.ts'
import { resumeWorker } from '../resources/worker/resume-worker.ts'
import { retireWorker } from '../resources/worker/retire-worker.ts'
import { reportMetrics } from '../resources/worker/worker-metrics.ts'
import { workerView } from '../resources/worker/worker-view.ts'
import { createdOnce, empty, type HandlerMap, json } from './handler-kinds.ts'

/** Routes of the worker-controller and the resource-scheduler. */
export const workerControllerHandlers = (api: Api) => {
  const reads = secretReads(api)
  const view = async (changed: Promise<Worker>) => workerView(api, await changed)
  return {
    reportWorkerStatus: json(request => view(reportStatus(api, request))),
    openLaunchAttempt: json(request => view(openLaunchAttempt(api, request))),
    reportWorkerMetrics: empty(request => reportMetrics(api, request)),
    checkWorkerIdle: json(request => checkWorkerIdle(api, request)),
    stopWorkerLabs: json(request => stopLabsOf(api, request)),
    importWorker: createdOnce(async request => {
      const { worker, isNew } = await importWorker(api, request)
      return { body: await workerView(api, worker), isNew }
    }),
    putPlan: json(request => putPlan(api, request)),
    scaleUp: createdOnce(request => scaleUp(api, request)),
    cleanUpWorkers: json(request => cleanUpWorkers(api, request)),
    getWorkerSecrets: json(request => workerSecrets(api, reads, request)),
    getTemplateUserData: json(request => templateUserData(api, reads, request)),
    permitOrphanTermination: json(request => permitOrphanTermination(api, request)),
    reportLicenseLeak: createdOnce(request => reportLicenseLeak(api, request)),
    recordDecisions: empty(request => recordDecisions(api, request)),
    reportInstance: json(request => reportInstance(api, request)),
    registerTerm: json(request => registerTerm(api, request)),
    resetTerm: empty(request => resetTerm(api, request)),
  } satisfies Partial<HandlerMap>
}

/** Routes of the resource-scheduler and the lablet-controller. */
export const labletControllerHandlers = (api: Api) =>
  ({
    assignSession: json(request => assignSession(api, request)),
    retireWorker: json(async request => workerView(api, await retireWorker(api, request))),
    resumeWorker: json(async request => workerView(api, await resumeWorker(api, request))),
    reportSession: json(request => reportSession(api, request)),
    bindLab: json(request => bindLab(api, request)),
    releaseSession: json(request => releaseSession(api, request)),
    storeSave: json(request => storeSave(api, request)),
    allocatePorts: json(request => allocatePorts(api, request)),
    reportLab: json(request => reportLab(api, request)),
    discoverLabs: json(request => discoverLabs(api, request)),
    recordSync: json(async request => definitionView(await recordSync(api, request))),
  }) satisfies Partial<HandlerMap>
