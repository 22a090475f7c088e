import type { LicensePoolView } from '@lcm/contract/license/license-pool'
import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf, QueryOf } from '@lcm/contract/routes'
import { toInstant } from '@lcm/domain/instant'
import { type LicensePool, seatCount } from '@lcm/domain/license/license-pool'
import { holdsSeat, seatQueue } from '@lcm/domain/license/seat-decisions'
import { CONDITION, withoutCondition } from '@lcm/domain/worker/worker'
import type { Api, Request } from '../../api-context.ts'
import { asSystem, nullOnConflict, SYSTEM_ACTOR } from '../../system-actor.ts'
import { changeDocument, refuseStale } from '../change-document.ts'
import { newId } from '../ids.ts'
import { auditEntry } from '../journal/entries.ts'
import { listAll, listPage } from '../list-documents.ts'
import { forgetSecrets, openSecret, poolTokenOf, withRef, withSecret } from '../secret/secrets-and-licenses.ts'
import { commitWorker } from '../worker/commit-worker.ts'
import { assignSeats, findPool, refuseSmaller } from './assign-seats.ts'

type PoolRequest<B = unknown> = Request<{ product: string }, unknown, B>

async function poolView(api: Api, { taken, secret_refs: _, ...pool }: LicensePool): Promise<LicensePoolView> {
  const seats = Object.entries(taken).map(([worker_id, { worker_version: __, ...seat }]) => ({ worker_id, ...seat }))
  const waiting = seatQueue(await listAll(api.workers, { where: { pooled: pool.product } }))
  return {
    ...pool,
    free: seatCount({ ...pool, taken }).free,
    leaked: seats.filter(({ leak_id }) => leak_id !== null).length,
    taken: seats.toSorted((a, b) => (a.since < b.since ? -1 : 1)),
    waiting: waiting.map(({ id, name }) => ({ worker_id: id, worker_name: name })),
  }
}

async function getPool(api: Api, product: string): Promise<LicensePool> {
  const pool = await findPool(api, product)
  if (pool === null) throw new ProblemError('not_found', `there is no license pool ${product}`)
  return pool
}

export const readLicensePool = async (api: Api, { params }: PoolRequest): Promise<LicensePoolView> =>
  poolView(api, await getPool(api, params.product))

export async function listLicensePools(
  api: Api,
  { query }: Request<object, QueryOf<'listLicensePools'>, unknown>,
): Promise<AnswerOf<'listLicensePools'>> {
  const page = await listPage(api, api.licensePools, query, {})
  return { ...page, items: await Promise.all(page.items.map(pool => poolView(api, pool))) }
}

export async function createLicensePool(
  api: Api,
  { body, actor, once }: Request<object, unknown, BodyOf<'createLicensePool'>>,
): Promise<LicensePoolView> {
  const { product, seats, token } = body
  const id = once?.resourceId ?? newId(api, 'lp')
  const now = toInstant(api.clock.now())
  const stamps = { id, version: 1, created_at: now, updated_at: now }
  const made = await withSecret(api, poolTokenOf(id), token, async ref => {
    const pool: LicensePool = withRef({ ...stamps, product, seats, taken: {}, secret_refs: {} }, 'license_token', ref)
    const result = await api.licensePools.insert(pool, [
      auditEntry(actor, 'create', now, { after: { product, seats } }),
    ])
    const existing = result.ok ? pool : once === null ? null : await api.licensePools.get(id)
    if (existing === null) throw new ProblemError('already_exists', `there is a license pool ${product} already`)
    return { written: existing, replaced: existing.secret_refs.license_token === ref ? undefined : ref }
  })
  await assignSeats(api, product)
  return poolView(api, (await api.licensePools.get(made.id)) ?? made)
}

/** A missing token stays. */
export async function putLicensePool(
  api: Api,
  request: PoolRequest<BodyOf<'putLicensePool'>>,
): Promise<LicensePoolView> {
  const { seats, token } = request.body
  const current = await getPool(api, request.params.product)
  refuseStale(current, request.ifMatch)
  const key = poolTokenOf(current.id)
  const isNewToken = token !== undefined && token !== (await openSecret(api, key, current.secret_refs.license_token))
  const target = { collection: api.licensePools, id: current.id, noun: 'license pool' }
  const put = async (ref: string | null) => {
    let replaced: string | undefined
    const written = await changeDocument(target, api.clock, request.ifMatch, (pool, now) => {
      refuseSmaller(pool, seats)
      if (ref === null && pool.seats === seats) return null
      replaced = ref === null ? undefined : pool.secret_refs.license_token
      const what = { before: { seats: pool.seats }, after: { seats }, reason: ref === null ? '' : 'with another token' }
      const changed = { ...pool, seats }
      const document = ref === null ? changed : withRef(changed, 'license_token', ref)
      return { document, entries: [auditEntry(request.actor, 'put', now, what)] }
    })
    return { written, replaced }
  }
  const { product } = isNewToken ? await withSecret(api, key, token, put) : (await put(null)).written
  if (isNewToken) await registerFailedAgain(api, product)
  await assignSeats(api, product)
  return poolView(api, await getPool(api, product))
}

/** Most likely they failed because of the token before. */
async function registerFailedAgain(api: Api, product: string): Promise<void> {
  const failed = (await listAll(api.workers, { where: { pooled: product } })).filter(
    worker => holdsSeat(worker) && worker.license.status === 'FAILED' && worker.license.pending_operation === null,
  )
  for (const { id, version } of failed)
    await nullOnConflict(
      commitWorker(api, asSystem(id, version), (worker, now) => {
        const license = { ...worker.license, pending_operation: 'register' as const, operation_started_at: null }
        const more = { before: worker.license, after: license, reason: 'the license pool has another token' }
        return { worker: { ...worker, license }, entries: [auditEntry(SYSTEM_ACTOR, 'license-register', now, more)] }
      }),
    )
}

export async function deleteLicensePool(api: Api, request: PoolRequest): Promise<null> {
  await assignSeats(api, request.params.product)
  const pool = await getPool(api, request.params.product)
  refuseStale(pool, request.ifMatch)
  refuseSmaller(pool, 0)
  const { product, seats } = pool
  const entry = auditEntry(request.actor, 'delete', toInstant(api.clock.now()), { before: { product, seats } })
  if (!(await api.licensePools.remove(pool, [entry])).ok)
    throw new ProblemError('version_mismatch', `${product} was changed meanwhile: read it again`)
  await forgetSecrets(api, `license_pool:${pool.id}`)
  for (const { id, version } of await listAll(api.workers, { where: { pooled: product } }))
    await nullOnConflict(
      commitWorker(api, asSystem(id, version), worker => {
        const conditions = withoutCondition(worker.conditions, CONDITION.seatMissing)
        return conditions.length === worker.conditions.length ? null : { worker: { ...worker, conditions } }
      }),
    )
  return null
}
