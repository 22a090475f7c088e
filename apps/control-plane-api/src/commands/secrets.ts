import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api, Request } from '../api.ts'
import type { Secret } from '../kinds.ts'
import { findWorker } from '../queries/workers.ts'
import { refuseStale } from './change.ts'
import { changeWorker, type WorkerRequest } from './change-worker.ts'
import { auditEntry } from './entries.ts'
import { refuseTerminating } from './intent.ts'

const RACES_MAX = 100

/** What can be sealed for a resource. */
type Purpose = 'license_token' | 'cml_login' | 'user_data'
const idOf = (resource: string, purpose: Purpose): string => `${resource}:${purpose}`

/** Sealed and kept apart from the resource. Null takes it away. */
export async function keepSecret(api: Api, resource: string, purpose: Purpose, text: string | null): Promise<void> {
  const id = idOf(resource, purpose)
  for (let race = 0; race < RACES_MAX; race += 1) {
    const current = await api.secrets.get(id)
    if (text === null) {
      if (current === null || (await api.secrets.remove(current)).ok) return
      continue
    }
    const next = { id, version: (current?.version ?? 0) + 1, sealed: api.sealing.seal(text, id) }
    const result = current === null ? await api.secrets.insert(next) : await api.secrets.replace(next)
    if (result.ok) return
  }
}

export async function openSecret(api: Api, resource: string, purpose: Purpose): Promise<string | null> {
  const id = idOf(resource, purpose)
  const secret = await api.secrets.get(id)
  return secret === null ? null : api.sealing.open(secret.sealed, id)
}

/** What holds the token of a registration; to be taken away by `forgetToken` when that is over. */
export const licenseTokenOf = (api: Api, workerId: string): Promise<Secret | null> =>
  api.secrets.get(idOf(`worker:${workerId}`, 'license_token'))

/** Takes away this token and no newer one: a person may have given another meanwhile. */
export async function forgetToken(api: Api, token: Secret | null): Promise<void> {
  if (token !== null) await api.secrets.remove(token)
}

export async function forgetSecrets(api: Api, resource: string): Promise<void> {
  for (const purpose of ['license_token', 'cml_login', 'user_data'] as const)
    await keepSecret(api, resource, purpose, null)
}

/** The token is stored before the operation that needs it, so that no crash leaves an operation without one. */
export async function registerLicense(api: Api, request: WorkerRequest<BodyOf<'putWorkerLicense'>>): Promise<Worker> {
  const { product, token } = request.body
  const worker = await findWorker(api, request.params.id)
  refuseTerminating(worker)
  refuseStale(worker, request.ifMatch)
  const isKnown = (await openSecret(api, `worker:${worker.id}`, 'license_token')) === token
  if (!isKnown) await keepSecret(api, `worker:${worker.id}`, 'license_token', token)
  return operateLicense(api, request, { operation: 'register', product, isKnown })
}

export const deregisterLicense = (api: Api, request: WorkerRequest): Promise<Worker> =>
  operateLicense(api, request, { operation: 'deregister', product: null, isKnown: true })

/** Asking again for what is under way does not begin it anew. */
function operateLicense(
  api: Api,
  request: WorkerRequest,
  wanted: { operation: 'register' | 'deregister'; product: string | null; isKnown: boolean },
): Promise<Worker> {
  const { operation, isKnown } = wanted
  return changeWorker(api, request, (worker, now) => {
    refuseTerminating(worker)
    const product = wanted.product ?? worker.license.product
    if (isKnown && worker.license.pending_operation === operation && worker.license.product === product) return null
    const license = {
      ...worker.license,
      product,
      pending_operation: operation,
      operation_started_at: null,
      last_error: null,
    }
    const more = { before: worker.license, after: license }
    return { worker: { ...worker, license }, entries: [auditEntry(request.actor, `license-${operation}`, now, more)] }
  })
}

export async function setCredentials(api: Api, request: WorkerRequest<BodyOf<'putWorkerCredentials'>>): Promise<null> {
  const { username, password } = request.body
  refuseStale(await findWorker(api, request.params.id), request.ifMatch)
  await keepSecret(api, `worker:${request.params.id}`, 'cml_login', JSON.stringify({ username, password }))
  await changeWorker(api, request, (worker, now) => ({
    worker,
    entries: [auditEntry(request.actor, 'set-credentials', now, { after: { username } })],
  }))
  return null
}

/** For controllers only. */
export async function workerSecrets(
  api: Api,
  request: Request<{ id: string }, unknown, unknown>,
): Promise<AnswerOf<'getWorkerSecrets'>> {
  const { id } = await findWorker(api, request.params.id)
  const login = await openSecret(api, `worker:${id}`, 'cml_login')
  const { username = null, password = null } = login === null ? {} : JSON.parse(login)
  return {
    license_token: await openSecret(api, `worker:${id}`, 'license_token'),
    cml_username: username,
    cml_password: password,
  }
}
