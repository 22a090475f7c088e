import { readList } from '@lcm/client/list-pages'
import type { NotificationTargetView } from '@lcm/contract/notification'
import type { Notification } from '@lcm/domain/notification/notification-target'
import { notThere } from '../find-resource.ts'
import type { Kind } from '../resource-kinds.ts'
import type { ResourceView } from '../resource-view.ts'
import { ageOf } from '../worker/worker-view.ts'

export const TARGET_VIEW: ResourceView<NotificationTargetView> = {
  nameOf: target => target.name,
  columns: nowMs => [
    { title: 'NAME', text: target => target.name },
    { title: 'TYPE', text: target => target.type },
    { title: 'TO', text: addressesOf },
    { title: 'KINDS', text: ({ kinds }) => (kinds.length === 0 ? 'all' : kinds.join(',')) },
    { title: 'SEVERITY', text: target => target.min_severity },
    { title: 'DELIVERED', text: ({ last_success_at: at }) => (at === null ? 'never' : `${ageOf(at, nowMs)} ago`) },
    {
      title: 'QUEUED',
      text: ({ queued, dead }) => (dead === 0 ? String(queued) : `${queued}, ${dead} given up`),
    },
    {
      title: 'LAST ERROR',
      text: ({ last_error, last_error_at: at }) => (at === null ? '' : `${ageOf(at, nowMs)} ago: ${last_error}`),
    },
  ],
  whenEmpty: 'no notification targets found: create one with `lcm create target NAME --type TYPE`',
}

const addressesOf = ({ url_host, to, to_owner }: NotificationTargetView): string =>
  url_host ?? [...to, ...(to_owner ? ['owners'] : [])].join(',')

const NOTIFICATION_VIEW: ResourceView<Notification> = {
  nameOf: notification => notification.id,
  columns: nowMs => [
    { title: 'ID', text: notification => notification.id },
    { title: 'TARGET', text: ({ target_name, owner }) => (owner === null ? target_name : `${target_name}: ${owner}`) },
    { title: 'STATUS', text: notification => notification.status },
    { title: 'ATTEMPTS', text: notification => String(notification.attempts) },
    { title: 'AGE', text: notification => ageOf(notification.created_at, nowMs) },
    { title: 'TITLE', text: notification => notification.title },
    { title: 'LAST ERROR', text: notification => notification.last_error ?? '' },
  ],
  whenEmpty: 'no notifications found',
}

/** Polled, because neither has events. */
const READ_EVERY_MS = 15_000
const NO_EVENTS = { everyMs: READ_EVERY_MS, changed: () => null, deleted: () => null }

export const TARGETS: Kind<NotificationTargetView> = {
  plural: 'targets',
  singular: 'target',
  view: TARGET_VIEW,
  hidden: null,
  isHidden: () => false,
  async find(client, wanted, signal) {
    const { items } = await TARGETS.list(client, true, signal)
    const found = items.find(({ id, name }) => id === wanted || name === wanted)
    if (found === undefined) throw notThere('target', wanted, 'lcm get targets')
    return found
  },
  list: (client, _, signal) => readList(query => client.call('listNotificationTargets', { query, signal })),
  ...NO_EVENTS,
}

export const NOTIFICATIONS: Kind<Notification> = {
  plural: 'notifications',
  singular: 'notification',
  view: NOTIFICATION_VIEW,
  hidden: 'DELIVERED',
  isHidden: ({ status }) => status === 'DELIVERED',
  async find(client, id, signal) {
    const { items } = await NOTIFICATIONS.list(client, true, signal)
    const found = items.find(notification => notification.id === id)
    if (found === undefined) throw notThere('notification', id, 'lcm get notifications --all')
    return found
  },
  async list(client, all, signal) {
    const { items, revision } = await readList(query => client.call('listNotifications', { query, signal }))
    return { items: items.filter(item => all || !NOTIFICATIONS.isHidden(item)), revision }
  },
  ...NO_EVENTS,
}
