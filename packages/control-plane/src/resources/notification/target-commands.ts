import type { NotificationTargetView } from '@lcm/contract/notification'
import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
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
  const { url, signing_key, ...fields } = request.body
  const current = await getTarget(api, request.params.id)
  refuseStale(current, request.ifMatch)
  const known = await openAddress(api, current)
  const hasUrl = url !== undefined || known !== null
  const signingKey = signing_key === undefined ? (known?.signing_key ?? null) : signing_key
  const trouble = addressTrouble({ ...current, ...defined(fields), hasUrl, isSigned: signingKey !== null })
  if (trouble !== null) throw new ProblemError('validation_failed', trouble)
  const write = (ref: string | null, address: TargetAddress | null) =>
    changed(api, request, target => {
      const shown = address === null ? {} : shownOf(address.url, address.signing_key)
      const next = { ...target, ...defined(fields), ...shown }
      return ref === null ? next : withRef(next, 'target_address', ref)
    })
  if (!hasUrl || (url === undefined && signing_key === undefined))
    return targetView(api, (await write(null, null)).written)
  const address = {
    url: url ?? known?.url ?? '',
    signing_key: signingKey,
  }
  const text = JSON.stringify(address satisfies TargetAddress)
  return targetView(api, await withSecret(api, addressSecretOf(current.id), text, ref => write(ref, address)))
}

const defined = <T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never

async function changed(
  api: Api,
  { params, ifMatch, actor }: TargetRequest,
  change: (target: StoredTarget) => StoredTarget,
): Promise<{ written: StoredTarget; replaced: string | undefined }> {
  let replaced: string | undefined
  const document = { collection: api.notificationTargets, id: params.id, noun: 'notification target' }
  const written = await changeDocument(document, api.clock, ifMatch, (target, now) => {
    const next = change(target)
    const before = target.secret_refs.target_address
    replaced = next.secret_refs.target_address === before ? undefined : before
    if (JSON.stringify(next) === JSON.stringify(target)) return null
    const reason = replaced === undefined ? '' : 'with another address'
    return {
      document: next,
      entries: [auditEntry(actor, 'patch', now, { before: shown(target), after: shown(next), reason })],
    }
  })
  return { written, replaced }
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
