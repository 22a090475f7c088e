import { toInstant, toMs } from '@lcm/domain/instant'
import type { Notification } from '@lcm/domain/notification/notification-target'
import type { Api, Request } from '../../api-context.ts'
import { changeDocument } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { listCreatedBefore } from '../list-documents.ts'
import { notificationView } from './queries.ts'

type NotificationRequest = Request<{ id: string }, unknown, unknown>

const documentOf = (api: Api, id: string) => ({ collection: api.notifications, id, noun: 'notification' })

export async function retryNotification(api: Api, { params, actor }: NotificationRequest): Promise<Notification> {
  const retried = await changeDocument(documentOf(api, params.id), api.clock, null, (notification, now) => {
    if (notification.status !== 'DEAD') return null
    const document = { ...notification, status: 'QUEUED' as const, attempts: 0, next_attempt_at: now }
    return { document, entries: [auditEntry(actor, 'retry', now)] }
  })
  return notificationView(retried)
}

/** The record stays for its time, so that the same is not sent again. */
export async function discardNotification(api: Api, { params, actor }: NotificationRequest): Promise<null> {
  await changeDocument(documentOf(api, params.id), api.clock, null, (notification, now) => {
    if (notification.status === 'DISCARDED') return null
    return { document: { ...notification, status: 'DISCARDED' as const }, entries: [auditEntry(actor, 'delete', now)] }
  })
  return null
}

const DAY_MS = 86_400_000
const DONE_DAYS = 7
/** What was given up stays longer, so that people find it. */
const OPEN_DAYS = 30

export async function pruneNotifications(api: Api): Promise<void> {
  const now = api.clock.now()
  const isOpen = (status: string): boolean => status === 'DEAD' || status === 'QUEUED'
  for (const notification of await listCreatedBefore(api.notifications, toInstant(now - DONE_DAYS * DAY_MS), {}))
    if (!isOpen(notification.status) || now - toMs(notification.created_at) > OPEN_DAYS * DAY_MS)
      await api.notifications.remove(notification)
}
