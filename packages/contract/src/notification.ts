import {
  addressTrouble,
  DELIVERY_STATUSES,
  Notification,
  NotificationTarget,
  NotificationTargetSpec,
  TargetHealth,
} from '@lcm/domain/notification/notification-target'
import { z } from 'zod'
import { listOf, Page } from './common-schemas.ts'
import { OPERATORS, type RouteSpec } from './route-spec.ts'

/** What fits into a header, and no line break. */
const PRINTABLE = /^[\x21-\x7e]+$/

const Secrets = {
  url: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .optional()
    .meta({
      description: 'Where messages of a `webhook` or `slack` target are posted. Write-only: it may be secret.',
      example: 'https://hooks.example.com/services/T0/B0/x',
    }),
  signing_key: z
    .string()
    .min(16)
    .max(256)
    .regex(PRINTABLE, 'printable characters')
    .nullable()
    .optional()
    .meta({
      description:
        'Signs the requests to a `webhook` target: `webhook-signature` is `v1,` and the base64 of HMAC-SHA256 over ' +
        '`webhook-id.webhook-timestamp.body`. Write-only; null removes it.',
    }),
}

export const CreateNotificationTarget = NotificationTargetSpec.extend(Secrets)
  .superRefine((target, context) => {
    const message = addressTrouble({
      ...target,
      hasUrl: target.url !== undefined,
      isSigned: typeof target.signing_key === 'string',
    })
    if (message !== null) context.addIssue({ code: 'custom', message, path: ['type'] })
  })
  .meta({ id: 'CreateNotificationTarget', description: 'A notification target to create.' })

/** A field with a default stays when it is omitted. */
const changeOf = <T extends z.ZodType>(field: z.ZodDefault<T>) =>
  field.unwrap().optional().meta({ description: field.meta()?.description })

const { name, kinds, min_severity, definitions, owners, to, to_owner } = NotificationTargetSpec.shape
export const PatchNotificationTarget = z
  .strictObject({
    name: name.optional(),
    kinds: changeOf(kinds),
    min_severity: changeOf(min_severity),
    definitions: changeOf(definitions),
    owners: changeOf(owners),
    to: changeOf(to),
    to_owner: changeOf(to_owner),
    ...Secrets,
  })
  .meta({ id: 'PatchNotificationTarget', description: 'Changes of a target; omitted fields stay.' })

export const NotificationTargetView = NotificationTarget.extend({
  ...TargetHealth.shape,
  queued: z.int().nonnegative().meta({ description: 'Messages that wait for delivery.', example: 0 }),
  dead: z.int().nonnegative().meta({ description: 'Messages that were given up.', example: 0 }),
}).meta({
  id: 'NotificationTargetView',
  description: 'A notification target and what became of its latest deliveries.',
})
export type NotificationTargetView = z.infer<typeof NotificationTargetView>

export const NotificationTestResult = z
  .object({
    delivered: z.boolean().meta({ description: 'Whether the target accepted the test message.' }),
    error: z.string().nullable().meta({ description: 'Why it did not.', example: null }),
  })
  .meta({ id: 'NotificationTestResult', description: 'The outcome of a test message.' })

const TargetList = listOf(NotificationTargetView).meta({
  id: 'NotificationTargetList',
  description: 'A page of notification targets.',
})
const NotificationList = listOf(Notification).meta({ id: 'NotificationList', description: 'A page of notifications.' })

const TARGET_ID = { id: { description: 'The id of the target.', example: 'nt-5k1r2m3n8pq4t' } } as const
const NOTIFICATION_ID = { id: { description: 'The id of the notification.', example: 'no-5k1r2m3n8pq4t' } } as const

const NotificationQuery = Page.extend({
  status: z.enum(DELIVERY_STATUSES).optional().meta({ description: 'Only those with this status.', example: 'DEAD' }),
  target_id: z.string().max(64).optional().meta({ description: 'Only those for this target.' }),
})

export const NOTIFICATION_ROUTES = {
  listNotificationTargets: {
    method: 'GET',
    path: '/notification-targets',
    summary: 'List notification targets',
    description: 'Returns where LCM sends notifications, and whether deliveries succeed.',
    access: OPERATORS,
    query: Page,
    status: 200,
    answer: TargetList,
    problems: [],
  },
  createNotificationTarget: {
    method: 'POST',
    path: '/notification-targets',
    summary: 'Create a notification target',
    description: 'Sends notifications about what happens from now on, and about problems that last.',
    access: OPERATORS,
    body: CreateNotificationTarget,
    status: 201,
    answer: NotificationTargetView,
    location: '/notification-targets/{id}',
    idempotent: true,
    problems: ['already_exists'],
  },
  getNotificationTarget: {
    method: 'GET',
    path: '/notification-targets/{id}',
    params: TARGET_ID,
    summary: 'Get a notification target',
    description: 'Returns one target. Its URL and its signing key are never shown.',
    access: OPERATORS,
    status: 200,
    answer: NotificationTargetView,
    problems: ['not_found'],
  },
  patchNotificationTarget: {
    method: 'PATCH',
    path: '/notification-targets/{id}',
    params: TARGET_ID,
    summary: 'Change a notification target',
    description: 'Changes the given fields. Its type stays.',
    access: OPERATORS,
    body: PatchNotificationTarget,
    status: 200,
    answer: NotificationTargetView,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'already_exists'],
  },
  deleteNotificationTarget: {
    method: 'DELETE',
    path: '/notification-targets/{id}',
    params: TARGET_ID,
    summary: 'Delete a notification target',
    description: 'Deletes the target and its notifications, those that wait for delivery included.',
    access: OPERATORS,
    status: 204,
    answer: null,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch'],
  },
  testNotificationTarget: {
    method: 'POST',
    path: '/notification-targets/{id}/test',
    params: TARGET_ID,
    summary: 'Send a test message',
    description:
      'Sends a test message at once and returns what became of it. A target that writes only to owners sends it to the caller.',
    access: OPERATORS,
    status: 200,
    answer: NotificationTestResult,
    problems: ['not_found'],
  },
  listNotifications: {
    method: 'GET',
    path: '/notifications',
    summary: 'List notifications',
    description: 'Returns the messages of the last days, oldest first, with the state of their delivery.',
    access: OPERATORS,
    query: NotificationQuery,
    status: 200,
    answer: NotificationList,
    problems: [],
  },
  retryNotification: {
    method: 'POST',
    path: '/notifications/{id}/retry',
    params: NOTIFICATION_ID,
    summary: 'Retry a notification',
    description: 'Sends a notification that was given up again. Others stay as they are.',
    access: OPERATORS,
    status: 202,
    answer: Notification,
    idempotent: true,
    problems: ['not_found'],
  },
  deleteNotification: {
    method: 'DELETE',
    path: '/notifications/{id}',
    params: NOTIFICATION_ID,
    summary: 'Delete a notification',
    description: 'Deletes a notification; one that waits for delivery is not sent.',
    access: OPERATORS,
    status: 204,
    answer: null,
    problems: ['not_found'],
  },
} as const satisfies Record<string, RouteSpec>
