import { z } from 'zod'
import { documentFields } from '../document-fields.ts'
import { Instant } from '../instant.ts'
import { PersonEmail } from '../person.ts'

export const NOTIFICATION_KINDS = [
  'session_ready',
  'session_degraded',
  'session_down',
  'session_moved',
  'session_lost',
  'session_at_risk',
  'session_ends_soon',
  'worker_failed',
  'capacity_short',
  'license_leak',
  'budget',
  'capacity_ahead',
] as const
export const NotificationKind = z
  .enum(NOTIFICATION_KINDS)
  .meta({ id: 'NotificationKind', description: 'What a notification is about.', example: 'session_ready' })
export type NotificationKind = z.infer<typeof NotificationKind>

/** Least serious first. */
export const SEVERITIES = ['info', 'warning', 'critical'] as const
export const Severity = z
  .enum(SEVERITIES)
  .meta({ id: 'Severity', description: 'How serious it is.', example: 'warning' })
export type Severity = z.infer<typeof Severity>

export const TARGET_TYPES = ['webhook', 'slack', 'email'] as const
export type TargetType = (typeof TARGET_TYPES)[number]

export const TargetName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'lower-case letters, digits and dashes, 1 to 63 characters')
  .meta({ id: 'TargetName', description: 'The name of a notification target.', example: 'operators' })

const LIST_MAX = 100

/** The fields of a target that operators set; addresses that may be secret are not among them. */
export const NotificationTargetSpec = z.strictObject({
  name: TargetName.meta({ description: 'The name.', example: 'operators' }),
  type: z.enum(TARGET_TYPES).meta({
    description:
      '`webhook`: JSON by HTTP POST; `slack`: an incoming webhook of Slack, or of a service that accepts the same; ' +
      '`email`: by the SMTP server of LCM.',
    example: 'slack',
  }),
  kinds: z.array(NotificationKind).max(NOTIFICATION_KINDS.length).default([]).meta({
    description: 'Kinds that it receives; empty for all.',
    example: [],
  }),
  min_severity: Severity.default('info').meta({ description: 'The lowest severity that it receives.' }),
  definitions: z.array(z.string().min(1).max(64)).max(LIST_MAX).default([]).meta({
    description: 'Names of definitions: it receives only what concerns their sessions; empty for everything.',
    example: [],
  }),
  owners: z.array(z.string().min(1).max(300)).max(LIST_MAX).default([]).meta({
    description: 'Ids of people: it receives only what concerns their sessions; empty for everything.',
    example: [],
  }),
  to: z.array(PersonEmail).max(LIST_MAX).default([]).meta({
    description: 'Email addresses; only of type `email`.',
  }),
  to_owner: z.boolean().default(false).meta({
    description: 'Whether an `email` target also writes to the owner of each session, about that session only.',
  }),
})
export type NotificationTargetSpec = z.infer<typeof NotificationTargetSpec>

type Addressed = Pick<NotificationTargetSpec, 'type' | 'to' | 'to_owner'> & {
  readonly hasUrl: boolean
  readonly isSigned: boolean
}

/** Why messages could not be addressed so; null if they can. */
export function addressTrouble({ type, to, to_owner, hasUrl, isSigned }: Addressed): string | null {
  if (isSigned && type !== 'webhook') return 'only a webhook target has a signing key'
  const isEmail = type === 'email'
  if (isEmail && hasUrl) return 'an email target has no url: give its addresses in to'
  if (isEmail) return to.length === 0 && !to_owner ? 'an email target needs to, to_owner, or both' : null
  if (to.length > 0 || to_owner) return `a ${type} target has no email addresses`
  return hasUrl ? null : `a ${type} target needs its url`
}

export const NotificationTarget = z
  .object({
    ...documentFields('nt-5k1r2m3n8pq4t'),
    ...NotificationTargetSpec.shape,
    url_host: z.string().nullable().meta({
      description: 'The host of its URL. The URL itself is secret and never shown. Null for email.',
      example: 'hooks.example.com',
    }),
    is_signed: z.boolean().meta({ description: 'Whether requests to it are signed with its signing key.' }),
  })
  .meta({ id: 'NotificationTarget', description: 'Where LCM sends notifications.' })
export type NotificationTarget = z.infer<typeof NotificationTarget>

/** What became of the latest deliveries to a target. */
export const TargetHealth = z
  .object({
    last_success_at: Instant.nullable().meta({ description: 'When a message was last accepted.', example: null }),
    last_error_at: Instant.nullable().meta({ description: 'When a delivery last failed.', example: null }),
    last_error: z.string().nullable().meta({ description: 'Why it failed.', example: null }),
  })
  .meta({ id: 'TargetHealth', description: 'What became of the latest deliveries to a target.' })
export type TargetHealth = z.infer<typeof TargetHealth>
export const NOTHING_DELIVERED: TargetHealth = { last_success_at: null, last_error_at: null, last_error: null }

export const DELIVERY_STATUSES = ['QUEUED', 'DELIVERED', 'DEAD', 'DISCARDED'] as const

export const Notification = z
  .object({
    ...documentFields('no-5k1r2m3n8pq4t'),
    target_id: z.string().meta({ description: 'The target that it is for.', example: 'nt-5k1r2m3n8pq4t' }),
    target_name: z.string().meta({ description: 'The name of the target.', example: 'operators' }),
    target_type: z.enum(TARGET_TYPES).meta({ description: 'The type of the target.', example: 'slack' }),
    owner: z.string().nullable().meta({
      description: 'The person that it is addressed to; null for the addresses of the target.',
      example: null,
    }),
    kind: NotificationKind,
    severity: Severity,
    is_resolved: z.boolean().meta({ description: 'Whether it says that an earlier problem is over.' }),
    title: z.string().meta({ description: 'What happened.', example: 'Your lab OSPF basics is ready until 11:00 UTC' }),
    lines: z.array(z.string()).meta({ description: 'Details and what to do next.', example: [] }),
    link: z.string().nullable().meta({ description: 'The page of the console about it.', example: null }),
    subjects: z.array(z.string()).meta({
      description: 'What it is about: `session:ID`, `worker:ID` or `license_leak:ID`.',
      example: ['session:ls-5k1r2m3n8pq4t'],
    }),
    status: z.enum(DELIVERY_STATUSES).meta({
      description: '`QUEUED`: it will be sent; `DELIVERED`: accepted; `DEAD`: given up; `DISCARDED`: deleted.',
      example: 'DELIVERED',
    }),
    attempts: z.int().nonnegative().meta({ description: 'The number of attempts.', example: 1 }),
    next_attempt_at: Instant.meta({ description: 'When it is sent next, while it is queued.' }),
    last_error: z.string().nullable().meta({ description: 'Why the latest attempt failed.', example: null }),
    delivered_at: Instant.nullable().meta({ description: 'When it was accepted; null before.', example: null }),
  })
  .meta({ id: 'Notification', description: 'A message to one target.' })
export type Notification = z.infer<typeof Notification>

/** What a message says, whatever carries it. */
export const Message = Notification.pick({
  kind: true,
  severity: true,
  is_resolved: true,
  title: true,
  lines: true,
  link: true,
  subjects: true,
})
export type Message = z.infer<typeof Message>
