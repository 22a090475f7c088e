import type { AnswerOf, BodyOf, ParamsOf, QueryOf, RouteName } from '@lcm/contract/routes'
import type { AccessControl } from './access-control.ts'
import { LOGIN_CODE_MS } from './access-control.ts'
import type { Api, Request } from './api.ts'
import { createWorker } from './commands/create-worker.ts'
import { deleteWorker } from './commands/delete-worker.ts'
import { patchWorker } from './commands/patch-worker.ts'
import { reportStatus } from './commands/report-status.ts'
import { setIntent } from './commands/set-intent.ts'
import { createTemplate } from './commands/templates.ts'
import { registerTerm, resetTerm } from './commands/terms.ts'
import { createToken, deleteToken } from './commands/tokens.ts'
import { eventStream } from './queries/events.ts'
import { getTemplate, listTemplates } from './queries/templates.ts'
import { listTokens } from './queries/tokens.ts'
import { findWorker, listWorkers } from './queries/workers.ts'

type RequestOf<N extends RouteName> = Request<ParamsOf<N>, QueryOf<N>, BodyOf<N>>
type HandlerMap = {
  [N in Exclude<RouteName, 'events'>]: (request: RequestOf<N>) => Promise<AnswerOf<N>>
} & { events: (request: RequestOf<'events'>) => Promise<AsyncIterable<string>> }

/** A request whose parts have been parsed by the route's own schemas. */
export type RawRequest = Request<Record<string, string>, unknown, unknown>
/** A method's parameter may be narrower: the dispatcher parses each part with the schema that the handler's types come from. */
export type Handler = { handle(request: RawRequest): Promise<unknown> }['handle']
export type Handlers = Readonly<Record<RouteName, Handler>>

/** Every route of the contract and what it does: the table of contents of the API. */
export function handlers(api: Api, access: AccessControl): Handlers {
  const routes: HandlerMap = {
    listWorkers: request => listWorkers(api, request.query),
    createWorker: request => createWorker(api, request),
    getWorker: request => findWorker(api, request.params.id),
    patchWorker: request => patchWorker(api, request),
    deleteWorker: request => deleteWorker(api, request),
    startWorker: request => setIntent(api, request, 'RUNNING'),
    stopWorker: request => setIntent(api, request, 'STOPPED'),
    terminateWorker: request => setIntent(api, request, 'TERMINATED'),
    reportWorkerStatus: request => reportStatus(api, request),
    listTemplates: request => listTemplates(api, request.query),
    createTemplate: request => createTemplate(api, request.body),
    getTemplate: request => getTemplate(api, request.params.name),
    registerTerm: request => registerTerm(api, request),
    resetTerm: request => resetTerm(api, request.params.service),
    listTokens: request => listTokens(api, request.query),
    createToken: request => createToken(api, request.body),
    deleteToken: request => deleteToken(api, request.params.id),
    events: async request => eventStream(api, request.lastEventId ?? request.query.after ?? null, request.signal),
    info: async ({ actor }) => ({
      ...api.config,
      regions: [...api.config.regions],
      actor: { name: actor.name, role: actor.role },
    }),
    createLoginLink: async () => ({
      url: `/login?code=${access.createLoginCode()}`,
      expires_in_seconds: LOGIN_CODE_MS / 1000,
    }),
  }
  return routes
}
