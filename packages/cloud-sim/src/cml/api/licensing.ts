import { type CmlAnswer, CmlRefusal, OK } from '../http-messages.ts'
import { type Check, checked, flag, integer, jsonBody, listOf, nullable, object, text, textLike } from '../input.ts'
import { isUp, nodeStateAt } from '../labs/node-lifecycle.ts'
import {
  isProduct,
  type LicensingRecord,
  type Registration,
  registrationAt,
  type Transport,
} from '../license/licensing.ts'
import type { Seat } from '../license/smart-account.ts'
import {
  BASE_FEATURE,
  EXTRA_NODES_MAX,
  licensingFeatures,
  licensingStatus,
  NODES_FEATURE,
  productUuid,
} from '../license/status.ts'
import {
  type CmlServerContext,
  hostnameOf,
  isModern,
  type Outcome,
  scaledMs,
  type UserCall,
} from '../server-context.ts'
import { admin, type Route } from './router.ts'

const REGISTERING_S = [5, 20] as const
const AUTHORIZING_S = [3, 10] as const
/** A token with this word in it is never valid, so that tests need no switch for a bad one. */
const NEVER_VALID = /invalid/i

/** 2.9 says nothing on success; from 2.11 on there is the whole status. */
function accepted(scene: CmlServerContext, licensing: LicensingRecord, seat?: Seat | null, status = 204): Outcome {
  const server = { ...scene.server, licensing }
  const change = { server, ...(seat === undefined ? {} : { seat }), events: [licenseInfo(scene.nowMs)] }
  if (!isModern(scene)) return { status, change }
  return { status: status === 204 ? 200 : status, body: licensingStatus({ ...scene, server }), change }
}

const licenseInfo = (at_ms: number) => ({ category: 'license_info', at_ms, data: {} })

/** Entry of the account for this server after a change of its license. */
function seatOf(scene: CmlServerContext, { product, extra_nodes }: LicensingRecord, { ends_ms }: Registration): Seat {
  return {
    product_uuid: productUuid(scene),
    hostname: hostnameOf(scene),
    instance_id: scene.instance.instance_id,
    product,
    extra_nodes,
    from_ms: ends_ms,
    left_behind: false,
  }
}

/** The same license with another size: the account hears of it while it is held. */
function resized(scene: CmlServerContext, licensing: LicensingRecord): Outcome {
  const { registration } = licensing
  const seat = registration?.outcome === 'granted' ? seatOf(scene, licensing, registration) : undefined
  return accepted(scene, licensing, seat)
}

function productSet({ scene, request }: UserCall): Outcome {
  const product = jsonBody(request.body, textLike(/^\w{1,20}$/))
  const { licensing } = scene.server
  if (!isProduct(product)) throw new CmlRefusal(400, `Product license ${product} is not known.`)
  if (licensing.product === product) throw new CmlRefusal(400, `Product license ${product} is already active.`)
  return resized(scene, { ...licensing, product })
}

const transport: Check<{ readonly proxy: Transport['proxy']; readonly ssms?: string | null }> = object<
  Pick<Transport, 'proxy'>,
  Pick<Transport, 'ssms'>
>(
  {
    proxy: object<Transport['proxy'], object>({ server: nullable(text(256)), port: nullable(integer(1, 65_535)) }, {}),
  },
  { ssms: nullable(text(256)) },
)

function transportSet({ scene, request }: UserCall): Outcome {
  const { proxy, ssms = null } = jsonBody(request.body, transport)
  return accepted(scene, { ...scene.server.licensing, transport: { ssms, proxy } })
}

function transportPatched(call: UserCall): Outcome {
  if (!isModern(call.scene)) throw new CmlRefusal(405, '405: Method Not Allowed')
  return transportSet(call)
}

const registration = object<{ token: string }, { reregister: boolean }>(
  { token: textLike(/^[A-Za-z0-9+/%=-]{1,256}$/) },
  { reregister: flag },
)

function registered({ scene, request }: UserCall): Outcome {
  const { token, reregister = false } = jsonBody(request.body, registration)
  const { licensing } = scene.server
  refuseWhileInProgress(scene)
  if (registrationAt(licensing, scene.nowMs) === 'COMPLETED' && !reregister) {
    throw new CmlRefusal(409, 'The product instance is already registered. Use reregister to register it again.')
  }
  return asked(scene, token)
}

/** Asks Smart Licensing with that token, now. */
function asked(scene: CmlServerContext, token: string): Outcome {
  const { licensing } = scene.server
  const attempt = registrationFrom(scene, token)
  const changed = { ...licensing, registration: attempt, registration_renewed_ms: null, authorization_renewed_ms: null }
  return accepted(scene, changed, attempt.outcome === 'granted' ? seatOf(scene, changed, attempt) : undefined)
}

function registrationFrom(scene: CmlServerContext, token: string): Registration {
  const { nowMs, faults } = scene
  const isValid = faults.license_tokens === 'valid' && !NEVER_VALID.test(token)
  const ends_ms = nowMs + scaledMs(scene, drawn(scene, 'registering', REGISTERING_S))
  return {
    token,
    asked_ms: nowMs,
    ends_ms,
    outcome: outcomeOf(scene, isValid),
    authorized_ms: ends_ms + scaledMs(scene, drawn(scene, 'authorizing', AUTHORIZING_S)),
  }
}

/** A token admits any number of servers: which of them get a license is decided by how many are left. */
function outcomeOf({ faults, isLicenseLeft }: CmlServerContext, isTokenValid: boolean): Registration['outcome'] {
  if (faults.license_server === 'not_reached') return 'not_reached'
  if (!isTokenValid) return 'bad_token'
  return isLicenseLeft() ? 'granted' : 'none_left'
}

const drawn = (scene: CmlServerContext, purpose: string, [from, to]: readonly [number, number]): number =>
  from + (to - from) * scene.fraction(purpose, scene.nowMs)

/** A registration that could not reach anybody goes on by itself once the way is free. */
export function retried(scene: CmlServerContext): Outcome | null {
  const { faults, server } = scene
  const { licensing } = server
  const { registration: waiting } = licensing
  if (waiting?.outcome !== 'not_reached' || faults.license_server === 'not_reached') return null
  return asked(scene, waiting.token)
}

/** A server that got no license asks again by itself, and gets one as soon as somebody has given one back. */
export function authorizedAnew(scene: CmlServerContext): Outcome | null {
  const { faults, server, nowMs, isLicenseLeft } = scene
  const { registration: known } = server.licensing
  if (known?.outcome !== 'none_left' || faults.license_server === 'not_reached' || !isLicenseLeft()) return null
  const authorized_ms = Math.max(known.authorized_ms, nowMs)
  const licensing = { ...server.licensing, registration: { ...known, outcome: 'granted' as const, authorized_ms } }
  return accepted(scene, licensing, seatOf(scene, licensing, known))
}

function refuseWhileInProgress({ server, nowMs }: CmlServerContext): void {
  if (registrationAt(server.licensing, nowMs) !== 'IN_PROGRESS') return
  throw new CmlRefusal(409, 'A registration is in progress. Please try again later.')
}

function renewedNow(which: 'registration_renewed_ms' | 'authorization_renewed_ms') {
  return ({ scene }: UserCall): Outcome => {
    const { licensing } = scene.server
    refuseWhileInProgress(scene)
    if (registrationAt(licensing, scene.nowMs) !== 'COMPLETED') {
      throw new CmlRefusal(400, 'The product instance is not registered.')
    }
    return accepted(scene, { ...licensing, [which]: scene.nowMs })
  }
}

const NO_BODY: CmlAnswer = { status: 400 }

/** Synchronous: the answer is held for as long as Smart Licensing takes. 202: it was not reached and still counts. */
function deregistered({ scene }: UserCall): Outcome {
  const { faults, server } = scene
  const { licensing } = server
  refuseWhileInProgress(scene)
  if (licensing.registration === null || licensing.registration.outcome === 'bad_token') return NO_BODY
  if (faults.deregister_while_labs_run === 'refused' && hasRunningNodes(scene)) {
    throw new CmlRefusal(
      409,
      'The product instance cannot be deregistered while labs are running. Stop all labs first.',
    )
  }
  const isLeft = faults.license_server === 'not_reached' && licensing.registration.outcome === 'granted'
  const seat = isLeft ? { ...seatOf(scene, licensing, licensing.registration), left_behind: true } : null
  const cleared = { ...licensing, registration: null, registration_renewed_ms: null, authorization_renewed_ms: null }
  const outcome = accepted(scene, { ...cleared, extra_nodes: 0 }, seat, isLeft ? 202 : 204)
  const held_ms = scaledMs(scene, faults.deregistration_held_s)
  return held_ms > 0 ? { ...outcome, held_ms } : outcome
}

const hasRunningNodes = ({ labs, nowMs }: CmlServerContext): boolean =>
  labs.some(lab => lab.nodes.some(node => isUp(nodeStateAt(node, nowMs))))

const features = listOf(
  object<{ id: string; count: number }, object>({ id: text(256), count: integer(0, 1_000_000) }, {}),
  1,
  2,
)

function featuresSet({ scene, request }: UserCall): Outcome {
  const wanted = jsonBody(request.body, features)
  const unknown = wanted.find(({ id }) => id !== BASE_FEATURE && id !== NODES_FEATURE)
  if (unknown) throw new CmlRefusal(400, `Feature ${unknown.id} is not known.`)
  for (const { id, count } of wanted)
    checked(count, integer(0, id === BASE_FEATURE ? 1 : EXTRA_NODES_MAX), ['body', id])
  const { licensing } = scene.server
  const extra_nodes = wanted.find(({ id }) => id === NODES_FEATURE)?.count ?? licensing.extra_nodes
  return resized(scene, { ...licensing, extra_nodes })
}

const techSupport = ({ scene }: UserCall): Outcome => {
  const { registration: shown, authorization } = licensingStatus(scene)
  return OK(`Smart Licensing tech support\nRegistration: ${shown.status}\nAuthorization: ${authorization.status}\n`)
}

export const LICENSING_ROUTES: readonly Route[] = [
  admin('GET /licensing', ({ scene }) => OK(licensingStatus(scene))),
  admin('PUT /licensing/product_license', productSet),
  admin('PUT /licensing/transport', transportSet),
  admin('PATCH /licensing/transport', transportPatched),
  admin('POST /licensing/registration', registered),
  admin('PUT /licensing/registration/renew', renewedNow('registration_renewed_ms')),
  admin('PUT /licensing/authorization/renew', renewedNow('authorization_renewed_ms')),
  admin('DELETE /licensing/deregistration', deregistered),
  admin('GET /licensing/features', ({ scene }) => OK(licensingFeatures(scene))),
  admin('PATCH /licensing/features', featuresSet),
  admin('GET /licensing/tech_support', techSupport),
]
