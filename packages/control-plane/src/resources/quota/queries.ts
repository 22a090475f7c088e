import { ProblemError } from '@lcm/contract/problems'
import type { QuotaView } from '@lcm/contract/quota'
import { mayModify } from '@lcm/contract/route-spec'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { reconciled, usageOf } from '@lcm/domain/quota/booking-ledger'
import { limitsOf, type Quota } from '@lcm/domain/quota/quota'
import type { Api, Request } from '../../api-context.ts'
import { listPage } from '../list-documents.ts'
import { currentSettings } from '../settings/queries.ts'
import { personOf, sessionsOf, unknownPerson } from './change-quota.ts'

/** Quotas of others are as the latest booking or housekeeping left them. */
export async function listQuotas(
  api: Api,
  { query, actor }: Request<object, QueryOf<'listQuotas'>, unknown>,
): Promise<AnswerOf<'listQuotas'>> {
  if (!mayModify(actor, ''))
    return { items: [await getQuota(api, actor.id, actor)], next_cursor: null, revision: await api.feed.position() }
  const page = await listPage(api, api.quotas, query, {})
  const settings = await currentSettings(api)
  const now = toInstant(api.clock.now())
  return { ...page, items: page.items.map(quota => viewOf(quota, settings, now)) }
}

/** Another person's quota is not found, as if it didn't exist. */
export async function getQuota(api: Api, owner: string, actor: Actor): Promise<QuotaView> {
  const stored = mayModify(actor, owner) ? await api.quotas.get(owner) : null
  if (stored === null && owner !== actor.id) throw new ProblemError('not_found', `there is no quota of ${owner}`)
  return currentQuota(api, stored ?? { ...noQuota(owner), ...personOf(actor) })
}

/** Null as the time of the last write: there was none. */
type AnyQuota = Omit<Quota, 'created_at' | 'updated_at'> & { readonly updated_at: Instant | null }

/** With the sessions as they are now. */
export async function currentQuota(api: Api, quota: AnyQuota): Promise<QuotaView> {
  const now = toInstant(api.clock.now())
  const ledger = reconciled(quota.ledger, await sessionsOf(api, quota.id, quota.ledger), now)
  return viewOf({ ...quota, ledger }, await currentSettings(api), now)
}

const noQuota = (id: string) => ({ ...unknownPerson(id), version: 0, given: {}, ledger: {}, updated_at: null })

function viewOf(
  { id, version, name, role, given, ledger, updated_at }: AnyQuota,
  settings: SettingValues,
  now: Instant,
): QuotaView {
  const limits = limitsOf({ role, given }, settings)
  return { id, version, name, role, limits, given, used: usageOf(ledger, now), updated_at }
}
