import { isDeepStrictEqual } from 'node:util'
import type { NotificationTargetView } from '@lcm/contract/notification'
import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import { addressTrouble } from '@lcm/domain/notification/notification-target'
import { testMessage } from '@lcm/domain/text/notification-formats'
import type { Api, Request } from '../../api-context.ts'
import type { StoredTarget } from '../../internal-documents.ts'
import { changeDocument, refuseStale } from '../change-document.ts'
import { newId } from '../ids.ts'
import { auditEntry } from '../journal/entries.ts'
import { listAll } from '../list-documents.ts'
import { forgetSecrets, withRef, withSecret } from '../secret/secrets-and-licenses.ts'
import { getTarget, targetView } from './queries.ts'
import {
  addressSecretOf,
  type NotificationSetting,
  openAddress,
  sendMessage,
  type TargetAddress,
} from './send-message.ts'
import { recordHealth } from './target-health.ts'

type CreateRequest = Request<object, unknown, BodyOf<'createNotificationTarget'>>
type TargetRequest<B = unknown> = Request<{ id: string }, unknown, B>

export async function createTarget(api: Api, { body, actor, once }: CreateRequest): Promise<NotificationTargetView> {
  const { url, signing_key = null, ...spec } = body
  const id = once?.resourceId ?? newId(api, 'nt')
  const now = toInstant(api.clock.now())
  const stamps = { id, version: 1, created_at: now, updated_at: now }
  const insert = async (ref: string | null) => {
    const target = { ...spec, ...stamps, ...shownOf(url, signing_key), secret_refs: {} }
    const wanted = withRef<StoredTarget>(target, 'target_address', ref)
    const result = await api.notificationTargets.insert(wanted, [auditEntry(actor, 'create', now, { after: spec })])
    const existing = result.ok ? wanted : once === null ? null : await api.notificationTargets.get(id)
    if (existing === null)
      throw new ProblemError('already_exists', `there is a notification target ${spec.name} already`)
    const isOurs = existing.secret_refs.target_address === (ref ?? undefined)
    return { written: existing, replaced: isOurs ? undefined : (ref ?? undefined) }
  }
  if (url === undefined) return targetView(api, (await insert(null)).written)
  const text = JSON.stringify({ url, signing_key } satisfies TargetAddress)
  return targetView(api, await withSecret(api, addressSecretOf(id), text, insert))
}

const shownOf = (url: string | undefined, signingKey: string | null) => ({
  url_host: url === undefined ? null : new URL(url).host,
  is_signed: signingKey !== null,
})

/** A new URL without a signing key keeps the key, and the other way around. */
export async function patchTarget(
  api: Api,
  request: TargetRequest<BodyOf<'patchNotificationTarget'>>,
): Promise<NotificationTargetView> {
  const { url: newUrl, signing_key: newKey, ...given } = request.body
  const current = await getTarget(api, request.params.id)
  refuseStale(current, request.ifMatch)
  const known = await openAddress(api, current)
  const url = newUrl ?? known?.url
  const signing_key = newKey === undefined ? (known?.signing_key ?? null) : newKey
  const next = { ...current, ...defined(given) }
  const trouble = addressTrouble({ ...next, hasUrl: url !== undefined, isSigned: signing_key !== null })
  if (trouble !== null) throw new ProblemError('validation_failed', trouble)
  if (url === undefined || (newUrl === undefined && newKey === undefined))
    return targetView(api, await replaceTarget(api, request.actor, { current, next }))
  const text = JSON.stringify({ url, signing_key } satisfies TargetAddress)
  const written = await withSecret(api, addressSecretOf(current.id), text, async ref => ({
    written: await replaceTarget(api, request.actor, {
      current,
      next: withRef({ ...next, ...shownOf(url, signing_key) }, 'target_address', ref),
    }),
    replaced: current.secret_refs.target_address,
  }))
  return targetView(api, written)
}

const defined = <T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never

/** Only the version that was read: a part of the address that another request changes meanwhile must not be lost. */
function replaceTarget(
  api: Api,
  actor: Actor,
  { current, next }: { current: StoredTarget; next: StoredTarget },
): Promise<StoredTarget> {
  const isMoved = next.secret_refs.target_address !== current.secret_refs.target_address
  const document = { collection: api.notificationTargets, id: current.id, noun: 'notification target' }
  return changeDocument(document, api.clock, current.version, (_, now) => {
    if (isDeepStrictEqual(next, current)) return null
    const reason = isMoved ? 'with another address' : ''
    const entry = auditEntry(actor, 'patch', now, { before: shown(current), after: shown(next), reason })
    return { document: next, entries: [entry] }
  })
}

/** Secret references are internal. */
const shown = ({ secret_refs: _, ...target }: StoredTarget) => target

export async function deleteTarget(api: Api, { params, ifMatch, actor }: TargetRequest): Promise<null> {
  const target = await getTarget(api, params.id)
  refuseStale(target, ifMatch)
  const entry = auditEntry(actor, 'delete', toInstant(api.clock.now()), { before: { name: target.name } })
  if (!(await api.notificationTargets.remove(target, [entry])).ok)
    throw new ProblemError('version_mismatch', `${target.name} was changed meanwhile: read it again`)
  for (const notification of await listAll(api.notifications, { where: { target_id: target.id } }))
    await api.notifications.remove(notification)
  const health = await api.targetHealth.get(target.id)
  if (health !== null) await api.targetHealth.remove(health)
  await forgetSecrets(api, addressSecretOf(target.id).resource)
  return null
}

/** Sends a message now and returns what became of it. It is not retried. */
export async function testTarget(
  api: Api,
  { setting, publicUrl }: { setting: NotificationSetting; publicUrl: string | null },
  { params, actor, signal }: TargetRequest,
): Promise<AnswerOf<'testNotificationTarget'>> {
  const target = await getTarget(api, params.id)
  const own = target.to.length > 0 ? null : (await api.people.get(actor.id))?.email
  const outgoing = {
    id: newId(api, 'no'),
    at: toInstant(api.clock.now()),
    message: testMessage(target.name, publicUrl),
    to: own ? [own] : target.to,
  }
  if (target.type === 'email' && outgoing.to.length === 0)
    return { delivered: false, error: 'you have no email address that LCM knows; set it with `lcm edit person`' }
  const entry = auditEntry(actor, 'test', outgoing.at)
  const subject = addressSecretOf(target.id).resource
  await api.store.journal.append([{ ...entry, id: `${subject}:test:${outgoing.id}`, subject }])
  const delivery = await sendMessage(api, setting, { target, outgoing }, signal)
  await recordHealth(api, target.id, delivery)
  return delivery.outcome === 'accepted'
    ? { delivered: true, error: null }
    : { delivered: false, error: delivery.reason }
}
