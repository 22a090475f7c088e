import type { QuotaView } from '@lcm/contract/quota'
import type { BodyOf } from '@lcm/contract/routes'
import { patchedLimits } from '@lcm/domain/quota/quota'
import type { Api, Request } from '../../api-context.ts'
import { refuseStale } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { changeQuota } from './change-quota.ts'
import { currentQuota, holderOf } from './queries.ts'

type PatchRequest = Request<{ owner: string }, unknown, BodyOf<'patchQuota'>>

export async function patchQuota(api: Api, { params, body, actor, ifMatch }: PatchRequest): Promise<QuotaView> {
  const { owner } = params
  const stored = await api.quotas.get(owner)
  if (stored === null) refuseStale({ id: owner, version: 0 }, ifMatch)
  const version = stored === null ? null : ifMatch
  const changed = await changeQuota(api, owner, version, (quota, now) => {
    const given = patchedLimits(quota.given, body)
    if (JSON.stringify(given) === JSON.stringify(quota.given)) return null
    const entries = [auditEntry(actor, 'patch', now, { before: quota.given, after: given })]
    return { document: { ...quota, given }, entries }
  })
  return currentQuota(api, changed, await holderOf(api, owner, actor))
}
