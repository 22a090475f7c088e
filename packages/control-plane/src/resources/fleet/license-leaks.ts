import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf, QueryOf } from '@lcm/contract/routes'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { toInstant } from '@lcm/domain/instant'
import type { Api, Request } from '../../api-context.ts'
import { narrowLeak } from '../../narrow-view.ts'
import { seesAll } from '../../visibility.ts'
import { changeDocument } from '../change-document.ts'
import { newId } from '../ids.ts'
import { auditEntry } from '../journal/entries.ts'
import { assignSeats } from '../license/assign-seats.ts'
import { listPage } from '../list-documents.ts'

/** More leaks than one worker can have. */
const LIST_MAX = 1000

/** One open record per worker, however often it is reported. */
export async function reportLicenseLeak(
  api: Api,
  { body, actor }: Request<object, unknown, BodyOf<'reportLicenseLeak'>>,
): Promise<{ body: LicenseLeak; isNew: boolean }> {
  const now = toInstant(api.clock.now())
  const id = newId(api, 'll')
  const worker = await api.workers.get(body.worker_id)
  const stamps = { id, version: 1, created_at: now, updated_at: now, at: now, resolved_at: null, resolved_by: null }
  const leak: LicenseLeak = { ...stamps, ...body, worker_name: worker?.name ?? body.worker_id }
  const result = await api.leaks.insert(leak, [
    auditEntry(actor, 'report', now, { after: { worker_id: body.worker_id } }),
  ])
  if (result.ok) return { body: leak, isNew: true }
  const recorded = await api.leaks.list({ where: { worker_id: body.worker_id }, limit: LIST_MAX })
  const known = recorded.find(each => each.resolved_at === null)
  if (known === undefined) throw new ProblemError('store_unavailable', 'the leak is being recorded; try again')
  return { body: known, isNew: false }
}

export async function listLicenseLeaks(
  api: Api,
  { query, actor }: Request<object, QueryOf<'listLicenseLeaks'>, unknown>,
): Promise<AnswerOf<'listLicenseLeaks'>> {
  const page = await listPage(api, api.leaks, query, {})
  return { ...page, items: seesAll(actor) ? page.items : page.items.map(narrowLeak) }
}

export async function resolveLicenseLeak(
  api: Api,
  { params, actor, body }: Request<{ id: string }, unknown, BodyOf<'resolveLicenseLeak'>>,
): Promise<LicenseLeak> {
  const target = { collection: api.leaks, id: params.id, noun: 'license leak' }
  const resolved = await changeDocument(target, api.clock, null, (leak, now) => {
    if (leak.resolved_at !== null) return null
    const document = { ...leak, resolved_at: now, resolved_by: actor.name }
    return { document, entries: [auditEntry(actor, 'resolve', now, { reason: body.reason })] }
  })
  await assignSeats(api, resolved.product)
  return resolved
}
