import { unlessMissing } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { QuotaView } from '@lcm/contract/quota'
import { notThere, onlyOne } from '../find-resource.ts'
import type { Kind } from '../resource-kinds.ts'
import type { ResourceView } from '../resource-view.ts'

type Limit = QuotaView['limits']['live_sessions']

const usedOf = (used: number, limit: Limit): string => `${used} of ${limit}`
export const horizonText = (days: Limit): string => (days === 'unlimited' ? days : `${days}d`)

export const QUOTA_VIEW: ResourceView<QuotaView> = {
  nameOf: quota => quota.name || quota.id,
  columns: () => [
    { title: 'NAME', text: quota => quota.name },
    { title: 'ID', text: quota => quota.id },
    { title: 'ROLE', text: quota => quota.role },
    { title: 'LIVE', text: ({ used, limits }) => usedOf(used.live_sessions, limits.live_sessions) },
    { title: 'FUTURE', text: ({ used, limits }) => usedOf(used.future_sessions, limits.future_sessions) },
    { title: 'HORIZON', text: ({ limits }) => horizonText(limits.horizon_days) },
    { title: 'CORE-HOURS', text: ({ used, limits }) => usedOf(used.core_hours_this_week, limits.core_hours_per_week) },
  ],
  whenEmpty: 'no quotas found: a person gets one with the first booking under a limit, or with `lcm set quota OWNER`',
}

/** Polled, because quotas have no events. */
const READ_EVERY_MS = 15_000

export const QUOTAS: Kind<QuotaView> = {
  plural: 'quotas',
  singular: 'quota',
  view: QUOTA_VIEW,
  hidden: null,
  isHidden: () => false,
  async find(client, idOrName, signal) {
    const byId = await unlessMissing(client.call('getQuota', { params: { owner: idOrName }, signal }))
    if (byId !== null) return byId
    const { items } = await QUOTAS.list(client, true, signal)
    const named = items.filter(({ name }) => name === idOrName)
    if (named.length === 0) throw notThere('quota', idOrName, 'lcm get quotas')
    const line = ({ id, role }: QuotaView) => `${id}  ${role}`
    return onlyOne(named, { name: idOrName, singular: 'quota', plural: 'quotas', isOver: () => false, line })
  },
  list: (client, _, signal) => readList(query => client.call('listQuotas', { query, signal })),
  everyMs: READ_EVERY_MS,
  changed: () => null,
  deleted: () => null,
}
