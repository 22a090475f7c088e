import type { NotificationTargetView } from '@lcm/contract/notification'
import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, QueryOf } from '@lcm/contract/routes'
import { NOTHING_DELIVERED, type Notification } from '@lcm/domain/notification/notification-target'
import type { Api, Request } from '../../api-context.ts'
import type { StoredNotification, StoredTarget } from '../../internal-documents.ts'
import { listPage } from '../list-documents.ts'

/** Messages that may wait for one target; later ones are dropped until some are delivered. */
export const QUEUE_MAX = 1_000

export async function getTarget(api: Api, id: string): Promise<StoredTarget> {
  const target = await api.notificationTargets.get(id)
  if (target === null) throw new ProblemError('not_found', `there is no notification target ${id}`)
  return target
}

export async function targetView(api: Api, target: StoredTarget): Promise<NotificationTargetView> {
  const { secret_refs: _, ...shown } = target
  const { last_success_at, last_error_at, last_error } = (await api.targetHealth.get(target.id)) ?? NOTHING_DELIVERED
  const count = async (facet: 'queue' | 'dead') =>
    (await api.notifications.list({ where: { [facet]: target.id }, limit: QUEUE_MAX })).length
  const [queued, dead] = [await count('queue'), await count('dead')]
  return { ...shown, last_success_at, last_error_at, last_error, queued, dead }
}

export async function listTargets(
  api: Api,
  { query }: Request<object, QueryOf<'listNotificationTargets'>, unknown>,
): Promise<AnswerOf<'listNotificationTargets'>> {
  const page = await listPage(api, api.notificationTargets, query, {})
  const items: NotificationTargetView[] = []
  for (const target of page.items) items.push(await targetView(api, target))
  return { ...page, items }
}

export const notificationView = ({ key: _, notices: __, ...shown }: StoredNotification): Notification => shown

export async function listNotifications(
  api: Api,
  { query }: Request<object, QueryOf<'listNotifications'>, unknown>,
): Promise<AnswerOf<'listNotifications'>> {
  const { status, target_id } = query
  const where = { ...(status === undefined ? {} : { status }), ...(target_id === undefined ? {} : { target_id }) }
  const whereNot: Record<string, string> = status === undefined ? { status: 'DISCARDED' } : {}
  const page = await listPage(api, api.notifications, query, { where, whereNot })
  return { ...page, items: page.items.map(notificationView) }
}
