import { ROLES } from '@lcm/domain/actor'
import { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { Fence } from '@lcm/domain/fencing'
import { Instant } from '@lcm/domain/instant'
import { Notification, NotificationTarget, TargetHealth } from '@lcm/domain/notification/notification-target'
import { Save } from '@lcm/domain/save/save'
import { Token } from '@lcm/domain/token'
import { z } from 'zod'

/** A token with the hash of its secret; the secret itself is never stored. */
export const StoredToken = Token.extend({ hash: z.string() })
export type StoredToken = z.infer<typeof StoredToken>

/** Sealed text of one resource. It is never part of that resource, so that no response can show it by mistake. */
export const Secret = z.object({
  /** `<resource>:<purpose>:<reference>` */
  id: z.string(),
  /** `<kind>:<id>` of its resource. */
  resource: z.string(),
  version: z.int().positive(),
  sealed: z.string(),
})
export type Secret = z.infer<typeof Secret>

/** Which secret key is active, which older ones texts may still be sealed with, and which keys each replica has. */
export const KeyRingState = z.object({
  id: z.literal('keys'),
  version: z.int().positive(),
  /** Id of the key that seals. */
  active: z.string(),
  /** Ids of older keys; empty once every text is sealed with the active one. */
  older: z.array(z.string()),
  /** Replicas whose keys an operator provides, by a random id. */
  replicas: z.record(z.string(), z.object({ key_ids: z.array(z.string()), seen_at: Instant })),
})
export type KeyRingState = z.infer<typeof KeyRingState>

/** A definition with fields that its view leaves out. */
export const StoredDefinition = LabletDefinition.extend({
  /** Fields that the author set; the others are derived from the topology, again for every new version. */
  given: z
    .object({
      needs: z.boolean(),
      port_template: z.boolean(),
      // Older documents lack these two: their values are kept.
      title: z.boolean().default(true),
      cml_min: z.boolean().default(true),
    })
    .default({ needs: false, port_template: false, title: true, cml_min: true }),
  fence: Fence.default({}),
})
export type StoredDefinition = z.infer<typeof StoredDefinition>

/** A save with what its view leaves out. Its blob has the same id, and is encrypted with a key of its own. */
export const StoredSave = Save.extend({
  sealed_key: z.string(),
  /** Sessions that were booked from it. */
  needed_by: z.array(z.object({ session_id: z.string(), since: Instant })),
})
export type StoredSave = z.infer<typeof StoredSave>

/** A request with an Idempotency-Key, which must not be executed twice. */
export const IdempotentRequest = z.object({
  /** Hash of actor, route and key. */
  id: z.string(),
  version: z.int().positive(),
  body_sha256: z.string(),
  /** Chosen at the first execution, so that a second one creates the same resource. */
  resource_id: z.string(),
  started_at: Instant,
  /** Null until there is a response; the body is sealed, because it may hold a secret. */
  answer: z
    .object({ status: z.int(), headers: z.record(z.string(), z.string()), sealed_body: z.string().nullable() })
    .nullable(),
})
export type IdempotentRequest = z.infer<typeof IdempotentRequest>

/** A login link: the digest of its code and the actor that it logs in. */
export const LoginCode = z.object({
  /** Digest of the code. */
  id: z.string(),
  version: z.int().positive(),
  expires_at: Instant,
  actor_id: z.string(),
  actor_name: z.string(),
  actor_role: z.enum(ROLES),
  /** When the token that made it ends, and with it the sign-in. */
  actor_expires_at: Instant.nullable().default(null),
  /** Key of the sign-ins of the actor: the code ends when it changes. */
  credential: z.string().default(''),
})
export type LoginCode = z.infer<typeof LoginCode>

export const SIGN_IN_METHODS = ['login_link', 'token', 'provider'] as const

/** A browser that signed in. The secret of its cookie is stored only as a digest. */
export const BrowserSession = z.object({
  /** Digest of the secret. */
  id: z.string(),
  version: z.int().positive(),
  created_at: Instant,
  expires_at: Instant,
  /** The actor at the sign-in; for one of the provider, as of the last answer of the provider. */
  actor: z.object({ id: z.string(), name: z.string(), role: z.enum(ROLES) }),
  signed_in_by: z.enum(SIGN_IN_METHODS),
  /** Key of the sign-ins of the actor: the session ends when it changes. */
  credential: z.string(),
  address: z.string(),
  user_agent: z.string(),
  /** Null unless the identity provider signed it in. */
  provider: z
    .object({
      issuer: z.string(),
      subject: z.string(),
      /** The provider's own id of the session. */
      sid: z.string().nullable(),
      sealed_refresh_token: z.string().nullable(),
      /** Start of the last question to the provider. */
      checked_at: Instant,
    })
    .nullable(),
})
export type BrowserSession = z.infer<typeof BrowserSession>

/** Progress of what one replica at a time reads from the feed: the webhook, or the notifications. */
export const FeedReader = z.object({
  id: z.enum(['webhook', 'notifications']),
  version: z.int().positive(),
  /** Everything up to here was delivered or dropped. */
  position: z.string(),
  lease: z.object({ holder: z.string(), until: Instant }).nullable(),
})
export type FeedReader = z.infer<typeof FeedReader>

/** A target with the reference of its sealed address. */
export const StoredTarget = NotificationTarget.extend({ secret_refs: z.record(z.string(), z.string()) })
export type StoredTarget = z.infer<typeof StoredTarget>

/** Apart from its target, so that a delivery does not change the version that an operator edits. */
export const StoredTargetHealth = TargetHealth.extend({ id: z.string(), version: z.int().positive() })
export type StoredTargetHealth = z.infer<typeof StoredTargetHealth>

/** A notification with its notices, so that none is sent twice. */
export const StoredNotification = Notification.extend({
  /** Unique: another replica that writes the same notification fails. */
  key: z.string(),
  notices: z.array(z.object({ key: z.string(), subject: z.string(), group: z.string(), gravity: z.number() })),
})
export type StoredNotification = z.infer<typeof StoredNotification>
