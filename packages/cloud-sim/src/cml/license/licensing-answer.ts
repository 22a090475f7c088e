import { plainInstantText } from '../http-messages.ts'
import { type CmlServerContext, hostnameOf } from '../server-context.ts'
import { authorizationAt, DEFAULT_SSMS, failureAt, isProduct, PRODUCTS, registrationAt } from './licensing-record.ts'

export const BASE_FEATURE = 'regid.2019-10.com.cisco.CML_ENT_BASE,1.0_15d3393c-846c-4e00-a54e-1ea90f2b2160'
export const NODES_FEATURE = 'regid.2019-10.com.cisco.CML_NODE_COUNT,1.0_2607650b-6ca8-46d5-81e5-e6688b7383c4'
export const EXTRA_NODES_MAX = 500

const DAY_MS = 86_400_000
const REGISTERED_DAYS = 365
const RENEWED_DAYS = 182
const AUTHORIZED_DAYS = 90
const AUTHORIZATION_RENEWED_DAYS = 30

const NO_TIME = { succeeded: null, attempted: null, scheduled: null, status: null, failure: null, success: null }

/** Identity of this server in the Smart Account. */
export const productUuid = (context: CmlServerContext): string => context.uuid('udi')

/** `GET /licensing`, member by member. */
export function licensingStatus(context: CmlServerContext) {
  const { nowMs, server, faults } = context
  const { licensing } = server
  const { product, transport } = licensing
  return {
    udi: { hostname: hostnameOf(context), product_uuid: productUuid(context) },
    registration: registrationStatus(context),
    authorization: authorizationStatus(context, authorizationAt(licensing, nowMs, faults.compliance)),
    reservation_mode: false,
    features: licensingFeatures(context),
    product_license: { active: product, is_enterprise: isProduct(product) && PRODUCTS[product].is_enterprise },
    transport: { ssms: transport.ssms, default_ssms: DEFAULT_SSMS, proxy: transport.proxy },
  }
}

function registrationStatus({ nowMs, server }: CmlServerContext) {
  const { licensing } = server
  const { registration, registration_renewed_ms } = licensing
  const status = registrationAt(licensing, nowMs)
  if (registration === null) {
    const unknown = { smart_account: null, virtual_account: null, expires: null }
    return { status, ...unknown, register_time: NO_TIME, renew_time: NO_TIME }
  }
  const isDone = status === 'COMPLETED'
  const doneMs = registration.ends_ms
  const renewedMs = registration_renewed_ms ?? doneMs
  return {
    status,
    smart_account: isDone ? 'Simulated Smart Account' : null,
    virtual_account: isDone ? 'Labs' : null,
    expires: isDone ? plainInstantText(renewedMs + REGISTERED_DAYS * DAY_MS) : null,
    register_time: {
      succeeded: isDone ? plainInstantText(doneMs) : null,
      attempted: plainInstantText(registration.asked_ms),
      scheduled: null,
      status: null,
      failure: failureAt(licensing, nowMs),
      success: status === 'IN_PROGRESS' ? null : isDone ? 'SUCCESS' : 'FAILED',
    },
    renew_time: {
      ...NO_TIME,
      ...(registration_renewed_ms === null ? {} : renewed(registration_renewed_ms)),
      scheduled: isDone ? plainInstantText(renewedMs + RENEWED_DAYS * DAY_MS) : null,
    },
  }
}

const renewed = (ms: number) => ({
  succeeded: plainInstantText(ms),
  attempted: plainInstantText(ms),
  failure: 'OK',
  success: 'SUCCESS',
})

function authorizationStatus({ server }: CmlServerContext, status: string) {
  const { registration, authorization_renewed_ms } = server.licensing
  if (registration === null || !status.includes('COMPLIANCE')) {
    return { status, expires: null, renew_time: { ...NO_TIME, status: 'NOT STARTED' } }
  }
  const renewedMs = authorization_renewed_ms ?? registration.authorized_ms
  return {
    status,
    expires: plainInstantText(renewedMs + AUTHORIZED_DAYS * DAY_MS),
    renew_time: {
      ...renewed(renewedMs),
      scheduled: plainInstantText(renewedMs + AUTHORIZATION_RENEWED_DAYS * DAY_MS),
      status: 'SUCCEEDED',
    },
  }
}

export function licensingFeatures({ nowMs, server, faults }: CmlServerContext) {
  const { licensing } = server
  const authorization = authorizationAt(licensing, nowMs, faults.compliance)
  const isGranted = authorization.includes('COMPLIANCE')
  const status = isGranted ? authorization : 'INIT'
  const shown = { version: '1.0', status, min: 0, minEndDate: null, maxEndDate: null }
  return [
    {
      ...shown,
      id: BASE_FEATURE,
      name: 'CML - Base License',
      description: 'Cisco Modeling Labs - Base License with 20 nodes capacity',
      in_use: isGranted ? 1 : 0,
      max: 1,
    },
    {
      ...shown,
      id: NODES_FEATURE,
      name: 'CML - Expansion Nodes',
      description: 'Cisco Modeling Labs - Expansion Nodes license',
      in_use: licensing.extra_nodes,
      max: EXTRA_NODES_MAX,
    },
  ]
}
