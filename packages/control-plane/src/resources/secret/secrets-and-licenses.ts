import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import type { Instant } from '@lcm/domain/instant'
import { holdsSeat } from '@lcm/domain/license/seat-decisions'
import { needsApproval } from '@lcm/domain/worker/instance-trust'
import type { Worker } from '@lcm/domain/worker/worker'
import type { License } from '@lcm/domain/worker/worker-field-schemas'
import type { Api, Request } from '../../api-context.ts'
import { refuseStale } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { findPool } from '../license/assign-seats.ts'
import { changeWorker, type WorkerChange, type WorkerRequest } from '../worker/change-worker.ts'
import { findWorker } from '../worker/queries.ts'
import { refuseTerminating } from '../worker/set-desired-status.ts'
import type { SecretReads } from './secret-reads.ts'

const REF_BYTES = 12
const PAGE = 100

/** Purpose of a secret. */
type Purpose = 'license_token' | 'cml_login' | 'user_data' | 'target_address'

/** A secret of a resource. A new secret never overwrites an older one; the document names the current one. */
interface SecretKey {
  /** `<kind>:<id>` */
  readonly resource: string
  readonly purpose: Purpose
}

const idOf = ({ resource, purpose }: SecretKey, ref: string): string => `${resource}:${purpose}:${ref}`

/** Seals and stores a text. It takes effect when the document names its reference. */
export async function storeSecret(api: Api, key: SecretKey, text: string): Promise<string> {
  const ref = Buffer.from(api.randomBytes(REF_BYTES)).toString('hex')
  const id = idOf(key, ref)
  const sealed = await api.keys.seal(text, id)
  await api.secrets.insert({ id, version: 1, resource: key.resource, sealed })
  if (await api.keys.isActive(sealed)) return ref
  // A rotation that ended meanwhile has not seen this text, and its key may be gone.
  await dropSecret(api, key, ref)
  return storeSecret(api, key, text)
}

export async function openSecret(api: Api, key: SecretKey, ref: string | undefined): Promise<string | null> {
  if (ref === undefined) return null
  const id = idOf(key, ref)
  return api.keys.openStored(async () => (await api.secrets.get(id))?.sealed ?? null, id)
}

export async function dropSecret(api: Api, key: SecretKey, ref: string | undefined): Promise<void> {
  const secret = ref === undefined ? null : await api.secrets.get(idOf(key, ref))
  if (secret !== null) await api.secrets.remove(secret)
}

/**
 * Writes a document with a new secret. `write` gets its reference and returns the one that it replaced. A refused write keeps
 * the old secret; a crash leaves at most one that no document names.
 */
export async function withSecret<T>(
  api: Api,
  key: SecretKey,
  text: string,
  write: (ref: string) => Promise<{ written: T; replaced: string | undefined }>,
): Promise<T> {
  const ref = await storeSecret(api, key, text)
  const { written, replaced } = await write(ref).catch(async error => {
    // Only a refusal is certain: any other failed write may have happened, and then needs its secret.
    if (error instanceof ProblemError) await dropSecret(api, key, ref)
    throw error
  })
  await dropSecret(api, key, replaced)
  return written
}

/** Deletes every secret of a resource, including those that a crash left. */
export async function forgetSecrets(api: Api, resource: string): Promise<void> {
  for (;;) {
    const found = await api.secrets.list({ where: { resource }, limit: PAGE })
    for (const secret of found) await api.secrets.remove(secret)
    if (found.length < PAGE) return
  }
}

const tokenOf = (workerId: string): SecretKey => ({ resource: `worker:${workerId}`, purpose: 'license_token' })
const loginOf = (workerId: string): SecretKey => ({ resource: `worker:${workerId}`, purpose: 'cml_login' })

export const poolTokenOf = (poolId: string): SecretKey => ({
  resource: `license_pool:${poolId}`,
  purpose: 'license_token',
})

/** Deletes the token after a registration, whatever its outcome. */
export const forgetLicenseToken = (api: Api, workerId: string, ref: string | undefined): Promise<void> =>
  dropSecret(api, tokenOf(workerId), ref)

/** A document with another secret reference, or without it. */
export function withRef<T extends { secret_refs: Record<string, string> }>(
  document: T,
  purpose: Purpose | 'user_data_before',
  ref: string | null,
): T {
  const { [purpose]: _, ...others } = document.secret_refs
  return { ...document, secret_refs: ref === null ? others : { ...others, [purpose]: ref } }
}

export async function registerLicense(api: Api, request: WorkerRequest<BodyOf<'putWorkerLicense'>>): Promise<Worker> {
  const { product, token } = request.body
  const worker = await findWorker(api, request.params.id)
  refuseTerminating(worker)
  refuseUnapproved(worker)
  refuseStale(worker, request.ifMatch)
  if (token === undefined) return registerFromPool(api, request)
  const key = tokenOf(worker.id)
  const known = worker.secret_refs.license_token
  if ((await openSecret(api, key, known)) === token)
    return operateLicense(api, request, { operation: 'register', product, ref: known ?? null }).then(
      done => done.written,
    )
  return withSecret(api, key, token, ref => operateLicense(api, request, { operation: 'register', product, ref }))
}

/** The registration begins once the worker has a seat, which may be at once. */
async function registerFromPool(api: Api, request: WorkerRequest<BodyOf<'putWorkerLicense'>>): Promise<Worker> {
  const { product } = request.body
  if ((await findPool(api, product)) === null)
    throw new ProblemError('license_pool_missing', `there is no license pool ${product}; send a token`)
  return changeWorker(api, request, (worker, now) => {
    refuseTerminating(worker)
    const { license } = worker
    if (!holdsSeat(worker)) return pooledLicense(worker, { ...license, product, seat: 'wanted' }, request, now)
    if (license.product !== product)
      throw new ProblemError(
        'illegal_transition',
        `${worker.name} holds a seat of ${license.product}: deregister its license first`,
      )
    const isRunning = license.pending_operation === 'register' || license.status === 'REGISTERED'
    if (license.seat !== 'leaving' && isRunning) return null
    const again = { pending_operation: 'register', operation_started_at: null, last_error: null, seat: 'held' } as const
    return pooledLicense(worker, { ...license, ...again }, request, now)
  })
}

function pooledLicense(worker: Worker, license: License, { actor }: WorkerRequest, now: Instant): WorkerChange {
  const entry = auditEntry(actor, 'license-register', now, { before: worker.license, after: license })
  return { worker: { ...worker, license }, entries: [entry] }
}

export async function deregisterLicense(api: Api, request: WorkerRequest): Promise<Worker> {
  const worker = await findWorker(api, request.params.id)
  refuseTerminating(worker)
  refuseUnapproved(worker)
  return (await operateLicense(api, request, { operation: 'deregister', product: null, ref: null })).written
}

function refuseUnapproved(worker: Worker): void {
  if (!needsApproval(worker)) return
  throw new ProblemError(
    'worker_not_trusted',
    `LCM did not launch the machine of ${worker.name}: run \`lcm approve worker ${worker.id}\`, or change the license in its CML`,
  )
}

interface LicenseRequest {
  readonly operation: 'register' | 'deregister'
  readonly product: string | null
  /** Reference of the token; null keeps the current one. */
  readonly ref: string | null
}

/** A repeated request for an operation in progress doesn't restart it. */
async function operateLicense(api: Api, request: WorkerRequest, { operation, product: wanted, ref }: LicenseRequest) {
  let replaced: string | undefined
  const written = await changeWorker(api, request, (worker, now) => {
    refuseTerminating(worker)
    replaced = worker.secret_refs.license_token
    const product = wanted ?? worker.license.product
    const isSameToken = ref === null || ref === replaced
    const isInProgress = worker.license.pending_operation === operation && worker.license.product === product
    if (isSameToken && isInProgress) return null
    // A person decided about this license, so that a returned seat is not taken again.
    const seat = holdsSeat(worker) ? ('leaving' as const) : ('none' as const)
    const operationFields = {
      product,
      pending_operation: operation,
      operation_started_at: null,
      last_error: null,
      seat,
    }
    const license = { ...worker.license, ...operationFields }
    const changed = ref === null ? worker : withRef(worker, 'license_token', ref)
    const more = { before: worker.license, after: license }
    return { worker: { ...changed, license }, entries: [auditEntry(request.actor, `license-${operation}`, now, more)] }
  })
  return { written, replaced }
}

export async function setCredentials(api: Api, request: WorkerRequest<BodyOf<'putWorkerCredentials'>>): Promise<null> {
  const { username, password } = request.body
  const { id } = await findWorker(api, request.params.id)
  await withSecret(api, loginOf(id), JSON.stringify({ username, password }), async ref => {
    let replaced: string | undefined
    const written = await changeWorker(api, request, (worker, now) => {
      replaced = worker.secret_refs.cml_login
      const entries = [auditEntry(request.actor, 'set-credentials', now, { after: { username } })]
      return { worker: withRef(worker, 'cml_login', ref), entries }
    })
    return { written, replaced }
  })
  return null
}

/** For the controllers that talk to a trusted CML. License tokens are for the worker-controller alone. */
export async function workerSecrets(
  api: Api,
  reads: SecretReads,
  { params, actor }: Request<{ id: string }, unknown, unknown>,
): Promise<AnswerOf<'getWorkerSecrets'>> {
  const worker = await findWorker(api, params.id)
  // Controllers check this too, but not the ones of versions before approvals.
  refuseUnapproved(worker)
  const { id, secret_refs } = worker
  const login = await openSecret(api, loginOf(id), secret_refs.cml_login)
  const { username = null, password = null } = login === null ? {} : JSON.parse(login)
  const mayLicense = actor.service === 'worker-controller'
  const token = mayLicense ? ((await pooledToken(api, worker)) ?? (await openOwnToken(api, worker))) : null
  await reads.record(actor, `worker:${id}`, { cml_login: login, license_token: token })
  return { license_token: token, cml_username: username, cml_password: password }
}

const openOwnToken = (api: Api, { id, secret_refs }: Worker): Promise<string | null> =>
  openSecret(api, tokenOf(id), secret_refs.license_token)

/** The token of a pool is only for a worker that has a seat there. */
async function pooledToken(api: Api, worker: Worker): Promise<string | null> {
  if (!holdsSeat(worker) || worker.license.seat === 'leaving') return null
  const pool = await findPool(api, worker.license.product)
  if (pool?.taken[worker.id] === undefined) return null
  return openSecret(api, poolTokenOf(pool.id), pool.secret_refs.license_token)
}
