import type { CmlLogin } from '@lcm/cloud/cml-login'
import type { CmlLicensing, LicenseRequest } from '@lcm/cloud/cml-system'
import { errorFromResponse, redactSecrets } from './api-errors.ts'
import { setBounded } from './bounded-map.ts'
import { type CmlApi, type CmlRequest, jsonOf, throwMalformed } from './cml-api.ts'
import { fieldOf, listOf, textIn } from './json-readers.ts'
import { licensingIn } from './system-readers.ts'

/** The call waits for the Smart Account, which may take a minute. */
const DEREGISTRATION_DEADLINE_MS = 75_000
const ENTERPRISE = 'CML_Enterprise'
const NODE_COUNT_FEATURE = 'regid.2019-10.com.cisco.CML_NODE_COUNT,1.0_2607650b-6ca8-46d5-81e5-e6688b7383c4'
const NODE_COUNT = /\bCML_NODE_COUNT\b/
/** Registration states of a server without a license. */
const WITHOUT_LICENSE: readonly string[] = ['NOT_REGISTERED', 'FAILED']

const LICENSING: CmlRequest = { method: 'GET', path: '/licensing' }
const DEREGISTRATION: CmlRequest = {
  method: 'DELETE',
  path: '/licensing/deregistration',
  deadlineMs: DEREGISTRATION_DEADLINE_MS,
  expected: [400],
}

export interface CmlLicense {
  licensing(login: CmlLogin, signal: AbortSignal): Promise<CmlLicensing>
  register(login: CmlLogin, request: LicenseRequest, signal: AbortSignal): Promise<void>
  deregister(login: CmlLogin, signal: AbortSignal): Promise<'returned' | 'left_behind' | 'not_registered'>
}

interface LicenseAnswer {
  readonly licensing: CmlLicensing
  readonly nodeCountFeature: string
}

export function cmlLicense(api: CmlApi): CmlLicense {
  /** The token last sent to each server, because its failure text may repeat it. */
  const sentTokens = new Map<string, string>()

  async function read(login: CmlLogin, signal: AbortSignal): Promise<LicenseAnswer> {
    const answer = jsonOf(await api.call(login, LICENSING, signal), LICENSING)
    const licensing = licensingIn(answer) ?? throwMalformed(LICENSING, 'without a registration')
    const sent = sentTokens.get(login.url)
    const failure = licensing.failure && redactSecrets(licensing.failure, sent === undefined ? [] : [sent])
    return { licensing: { ...licensing, failure }, nodeCountFeature: nodeCountFeatureIn(answer) }
  }

  return {
    licensing: async (login, signal) => (await read(login, signal)).licensing,
    async register(login, request, signal) {
      setBounded(sentTokens, login.url, request.token)
      const before = await read(login, signal)
      await setProduct(request.product, before.licensing.product, { api, login, signal, read })
      const json = { token: request.token, reregister: false }
      const secrets = [request.token]
      await api.call(login, { method: 'POST', path: '/licensing/registration', json, secrets }, signal)
      if ((request.product ?? before.licensing.product) !== ENTERPRISE || request.extra_nodes === null) return
      const count = [{ id: before.nodeCountFeature, count: request.extra_nodes }]
      await api.call(login, { method: 'PATCH', path: '/licensing/features', json: count }, signal)
    },
    async deregister(login, signal) {
      const answer = await api.call(login, DEREGISTRATION, signal)
      if (answer.status === 202) return 'left_behind'
      if (answer.status !== 400) return 'returned'
      // The response may have another meaning than "no license", and a license that is wrongly assumed returned is
      // lost.
      const { licensing } = await read(login, signal)
      if (WITHOUT_LICENSE.includes(licensing.registration)) return 'not_registered'
      throw errorFromResponse(answer, {
        action: 'DELETE /licensing/deregistration',
        secrets: [login.password],
        ids: [],
      })
    },
  }
}

interface Context {
  readonly api: CmlApi
  readonly login: CmlLogin
  readonly signal: AbortSignal
  read(login: CmlLogin, signal: AbortSignal): Promise<LicenseAnswer>
}

/** CML rejects a product that is already active; another client may have set it since our read. */
async function setProduct(product: string | null, active: string | null, context: Context): Promise<void> {
  if (product === null || product === active) return
  const { api, login, signal, read } = context
  const request: CmlRequest = { method: 'PUT', path: '/licensing/product_license', json: product, expected: [400] }
  const answer = await api.call(login, request, signal)
  if (answer.status !== 400 || (await read(login, signal)).licensing.product === product) return
  throw errorFromResponse(answer, { action: 'PUT /licensing/product_license', secrets: [login.password], ids: [] })
}

function nodeCountFeatureIn(answer: unknown): string {
  const ids = listOf(fieldOf(answer, 'features')).map(feature => textIn(feature, 'id'))
  return ids.find(id => id !== null && NODE_COUNT.test(id)) ?? NODE_COUNT_FEATURE
}
