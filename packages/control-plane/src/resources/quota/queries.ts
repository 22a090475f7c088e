import { ProblemError } from '@lcm/contract/problems'
import type { QuotaView } from '@lcm/contract/quota'
import { mayModify } from '@lcm/contract/route-spec'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import type { Actor, Role } from '@lcm/domain/actor'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { reconciled, usageOf } from '@lcm/domain/quota/booking-ledger'
import { limitsOf, type Quota } from '@lcm/domain/quota/quota'
import type { Api, Request } from '../../api-context.ts'
import { listPage } from '../list-documents.ts'
import { currentSettings } from '../settings/queries.ts'
import { sessionsOf } from './change-quota.ts'

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
  const view = async (quota: Quota) => viewOf(quota, await holderOf(api, quota.id, actor), settings, now)
  return { ...page, items: await Promise.all(page.items.map(view)) }
}

/** Another person's quota is not found, as if it didn't exist. */
export async function getQuota(api: Api, owner: string, actor: Actor): Promise<QuotaView> {
  const holder = mayModify(actor, owner) ? await holderOf(api, owner, actor) : null
  const stored = mayModify(actor, owner) ? await api.quotas.get(owner) : null
  if (stored === null && holder === null) throw new ProblemError('not_found', `there is no quota of ${owner}`)
  return currentQuota(api, stored ?? { id: owner, version: 0, given: {}, ledger: {}, updated_at: null }, holder)
}

/** Null as the time of the last write: there was none. */
type AnyQuota = Omit<Quota, 'created_at' | 'updated_at'> & { readonly updated_at: Instant | null }

interface Holder {
  readonly name: string
  readonly role: Role
}

/** Null for a person without a record: removed, or not signed in yet. The caller's own role may be that of a weaker token. */
export const holderOf = async (api: Api, owner: string, actor: Actor): Promise<Holder | null> =>
  owner === actor.id ? actor : api.people.get(owner)

/** With the sessions as they are now. */
export async function currentQuota(api: Api, quota: AnyQuota, holder: Holder | null): Promise<QuotaView> {
  const now = toInstant(api.clock.now())
  const ledger = reconciled(quota.ledger, await sessionsOf(api, quota.id, quota.ledger), now)
  return viewOf({ ...quota, ledger }, holder, await currentSettings(api), now)
}

/** `user` is the strictest role. */
const UNKNOWN: Holder = { name: '', role: 'user' }

function viewOf(
  { id, version, given, ledger, updated_at }: AnyQuota,
  holder: Holder | null,
  settings: SettingValues,
  now: Instant,
): QuotaView {
  const { name, role } = holder ?? UNKNOWN
  const limits = limitsOf({ role, given }, settings)
  return { id, version, name, role, limits, given, used: usageOf(ledger, now), updated_at }
}
