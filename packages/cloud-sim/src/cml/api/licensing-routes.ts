import { type CmlAnswer, CmlRefusal, OK } from '../http-messages.ts'
import {
  type Check,
  checked,
  flag,
  integer,
  jsonBody,
  listOf,
  nullable,
  object,
  text,
  textLike,
} from '../input-checks.ts'
import { isUp, nodeStateAt } from '../labs/lab-element-states.ts'
import {
  BASE_FEATURE,
  EXTRA_NODES_MAX,
  licensingFeatures,
  licensingStatus,
  NODES_FEATURE,
  productUuid,
} from '../license/licensing-answer.ts'
import {
  isProduct,
  type LicensingRecord,
  type Registration,
  registrationAt,
  type Transport,
} from '../license/licensing-record.ts'
import type { Seat } from '../license/smart-account-seat.ts'
import {
  type CmlServerContext,
  hostnameOf,
  isModern,
  type Outcome,
  scaledMs,
  type UserCall,
} from '../server-context.ts'
import { admin, type Route } from './route.ts'

const REGISTERING_S = [5, 20] as const
const AUTHORIZING_S = [3, 10] as const
/** A token that contains this word is always invalid, so tests need no switch for a bad token. */
const NEVER_VALID = /invalid/i

/** On success 2.9 returns no body; from 2.11 on the body is the whole status. */
function accepted(context: CmlServerContext, licensing: LicensingRecord, seat?: Seat | null, status = 204): Outcome {
  const server = { ...context.server, licensing }
  const change = { server, ...(seat === undefined ? {} : { seat }), events: [licenseInfo(context.nowMs)] }
  if (!isModern(context)) return { status, change }
  return { status: status === 204 ? 200 : status, body: licensingStatus({ ...context, server }), change }
}

const licenseInfo = (at_ms: number) => ({ category: 'license_info', at_ms, data: {} })

/** Entry of this server in the Smart Account after a license change. */
function seatOf(context: CmlServerContext, { product, extra_nodes }: LicensingRecord, { ends_ms }: Registration): Seat {
  return {
    product_uuid: productUuid(context),
    hostname: hostnameOf(context),
    instance_id: context.instance.instance_id,
    product,
    extra_nodes,
    from_ms: ends_ms,
    left_behind: false,
  }
}

/** The license with another node count; the account is updated while the license is held. */
function resized(context: CmlServerContext, licensing: LicensingRecord): Outcome {
  const { registration } = licensing
  const seat = registration?.outcome === 'granted' ? seatOf(context, licensing, registration) : undefined
  return accepted(context, licensing, seat)
}

function productSet({ context, request }: UserCall): Outcome {
  const product = jsonBody(request.body, textLike(/^\w{1,20}$/))
  const { licensing } = context.server
  if (!isProduct(product)) throw new CmlRefusal(400, `Product license ${product} is not known.`)
  if (licensing.product === product) throw new CmlRefusal(400, `Product license ${product} is already active.`)
  return resized(context, { ...licensing, product })
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

function transportSet({ context, request }: UserCall): Outcome {
  const { proxy, ssms = null } = jsonBody(request.body, transport)
  return accepted(context, { ...context.server.licensing, transport: { ssms, proxy } })
}

function transportPatched(call: UserCall): Outcome {
  if (!isModern(call.context)) throw new CmlRefusal(405, '405: Method Not Allowed')
  return transportSet(call)
}

const registration = object<{ token: string }, { reregister: boolean }>(
  { token: textLike(/^[A-Za-z0-9+/%=-]{1,256}$/) },
  { reregister: flag },
)

function registered({ context, request }: UserCall): Outcome {
  const { token, reregister = false } = jsonBody(request.body, registration)
  const { licensing } = context.server
  refuseWhileInProgress(context)
  if (registrationAt(licensing, context.nowMs) === 'COMPLETED' && !reregister) {
    throw new CmlRefusal(409, 'The product instance is already registered. Use reregister to register it again.')
  }
  return asked(context, token)
}

/** Registers with Smart Licensing now. */
function asked(context: CmlServerContext, token: string): Outcome {
  const { licensing } = context.server
  const attempt = registrationFrom(context, token)
  const changed = { ...licensing, registration: attempt, registration_renewed_ms: null, authorization_renewed_ms: null }
  return accepted(context, changed, attempt.outcome === 'granted' ? seatOf(context, changed, attempt) : undefined)
}

function registrationFrom(context: CmlServerContext, token: string): Registration {
  const { nowMs, faults } = context
  const isValid = faults.license_tokens === 'valid' && !NEVER_VALID.test(token)
  const ends_ms = nowMs + scaledMs(context, drawn(context, 'registering', REGISTERING_S))
  return {
    token,
    asked_ms: nowMs,
    ends_ms,
    outcome: outcomeOf(context, isValid),
    authorized_ms: ends_ms + scaledMs(context, drawn(context, 'authorizing', AUTHORIZING_S)),
  }
}

/** A token registers any number of servers; the number of free licenses decides which of them get one. */
function outcomeOf({ faults, isLicenseLeft }: CmlServerContext, isTokenValid: boolean): Registration['outcome'] {
  if (faults.license_server === 'not_reached') return 'not_reached'
  if (!isTokenValid) return 'bad_token'
  return isLicenseLeft() ? 'granted' : 'none_left'
}

const drawn = (context: CmlServerContext, purpose: string, [from, to]: readonly [number, number]): number =>
  from + (to - from) * context.fraction(purpose, context.nowMs)

/** A registration that couldn't reach Smart Licensing continues by itself once the connection works. */
export function retried(context: CmlServerContext): Outcome | null {
  const { faults, server } = context
  const { licensing } = server
  const { registration: waiting } = licensing
  if (waiting?.outcome !== 'not_reached' || faults.license_server === 'not_reached') return null
  return asked(context, waiting.token)
}

/** A server without a license retries by itself and gets one as soon as another server returns it. */
export function renewedAuthorization(context: CmlServerContext): Outcome | null {
  const { faults, server, nowMs, isLicenseLeft } = context
  const { registration: known } = server.licensing
  if (known?.outcome !== 'none_left' || faults.license_server === 'not_reached' || !isLicenseLeft()) return null
  const authorized_ms = Math.max(known.authorized_ms, nowMs)
  const licensing = { ...server.licensing, registration: { ...known, outcome: 'granted' as const, authorized_ms } }
  return accepted(context, licensing, seatOf(context, licensing, known))
}

function refuseWhileInProgress({ server, nowMs }: CmlServerContext): void {
  if (registrationAt(server.licensing, nowMs) !== 'IN_PROGRESS') return
  throw new CmlRefusal(409, 'A registration is in progress. Please try again later.')
}

function renewedNow(which: 'registration_renewed_ms' | 'authorization_renewed_ms') {
  return ({ context }: UserCall): Outcome => {
    const { licensing } = context.server
    refuseWhileInProgress(context)
    if (registrationAt(licensing, context.nowMs) !== 'COMPLETED') {
      throw new CmlRefusal(400, 'The product instance is not registered.')
    }
    return accepted(context, { ...licensing, [which]: context.nowMs })
  }
}

const NO_BODY: CmlAnswer = { status: 400 }

/**
 * Synchronous: the response is delayed until Smart Licensing has answered. 202 means that it wasn't reached and still
 * counts the license.
 */
function deregistered({ context }: UserCall): Outcome {
  const { faults, server } = context
  const { licensing } = server
  refuseWhileInProgress(context)
  if (licensing.registration === null || licensing.registration.outcome === 'bad_token') return NO_BODY
  if (faults.deregister_while_labs_run === 'refused' && hasRunningNodes(context)) {
    throw new CmlRefusal(
      409,
      'The product instance cannot be deregistered while labs are running. Stop all labs first.',
    )
  }
  const isLeft = faults.license_server === 'not_reached' && licensing.registration.outcome === 'granted'
  const seat = isLeft ? { ...seatOf(context, licensing, licensing.registration), left_behind: true } : null
  const cleared = { ...licensing, registration: null, registration_renewed_ms: null, authorization_renewed_ms: null }
  const outcome = accepted(context, { ...cleared, extra_nodes: 0 }, seat, isLeft ? 202 : 204)
  const held_ms = scaledMs(context, faults.deregistration_held_s)
  return held_ms > 0 ? { ...outcome, held_ms } : outcome
}

const hasRunningNodes = ({ labs, nowMs }: CmlServerContext): boolean =>
  labs.some(lab => lab.nodes.some(node => isUp(nodeStateAt(node, nowMs))))

const features = listOf(
  object<{ id: string; count: number }, object>({ id: text(256), count: integer(0, 1_000_000) }, {}),
  1,
  2,
)

function featuresSet({ context, request }: UserCall): Outcome {
  const wanted = jsonBody(request.body, features)
  const unknown = wanted.find(({ id }) => id !== BASE_FEATURE && id !== NODES_FEATURE)
  if (unknown) throw new CmlRefusal(400, `Feature ${unknown.id} is not known.`)
  for (const { id, count } of wanted)
    checked(count, integer(0, id === BASE_FEATURE ? 1 : EXTRA_NODES_MAX), ['body', id])
  const { licensing } = context.server
  const extra_nodes = wanted.find(({ id }) => id === NODES_FEATURE)?.count ?? licensing.extra_nodes
  return resized(context, { ...licensing, extra_nodes })
}

const techSupport = ({ context }: UserCall): Outcome => {
  const { registration: shown, authorization } = licensingStatus(context)
  return OK(`Smart Licensing tech support\nRegistration: ${shown.status}\nAuthorization: ${authorization.status}\n`)
}

export const LICENSING_ROUTES: readonly Route[] = [
  admin('GET /licensing', ({ context }) => OK(licensingStatus(context))),
  admin('PUT /licensing/product_license', productSet),
  admin('PUT /licensing/transport', transportSet),
  admin('PATCH /licensing/transport', transportPatched),
  admin('POST /licensing/registration', registered),
  admin('PUT /licensing/registration/renew', renewedNow('registration_renewed_ms')),
  admin('PUT /licensing/authorization/renew', renewedNow('authorization_renewed_ms')),
  admin('DELETE /licensing/deregistration', deregistered),
  admin('GET /licensing/features', ({ context }) => OK(licensingFeatures(context))),
  admin('PATCH /licensing/features', featuresSet),
  admin('GET /licensing/tech_support', techSupport),
]
