import { UnreachableError } from '@lcm/client/client'
import { Problem } from '@lcm/contract/problems'
import type { ApiResponse } from '@lcm/contract/route-spec'
import { API_PREFIX } from '@lcm/contract/routes'
import type { PersonRole } from '@lcm/domain/person'
import type { AccessRights, Right } from '../invariants/access/access-rights.ts'
import type { World } from '../world/world.ts'

/** Everyone, attackers included, comes from one address, as behind a proxy. */
const PROXY = '192.0.2.7'
const HOST = 'localhost:8080'
const BROWSER = { host: HOST, origin: `http://${HOST}`, 'content-type': 'application/json' }

/** Something that a person signs requests with. */
export interface Credential {
  readonly kind: 'token' | 'cookie' | 'link'
  readonly id: string
  readonly secret: string
  readonly right: Right
  /** Right to act as an operator; null for a user. */
  operator: Right | null
  readonly streams: Right[]
  isFollowing: boolean
}

export interface Member {
  readonly id: string
  role: PersonRole
  /** All that the person ever had: attackers keep those that ended. */
  readonly credentials: Credential[]
  /** Pending requests that may end what the person obtains meanwhile. */
  endings: number
  mergedInto: Member | null
}

export const currentOf = (member: Member): Member =>
  member.mergedInto === null ? member : currentOf(member.mergedInto)

interface AccessRequest {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly json?: object
}

/** Requests of people and attackers to any replica, with checked answers. */
export function accessRequests(world: Pick<World, 'time' | 'toAnyApi'>, rights: AccessRights) {
  /** Null when no API answers. */
  async function send({ json, ...request }: AccessRequest): Promise<ApiResponse | null> {
    const body = json === undefined ? null : JSON.stringify(json)
    try {
      return await world.toAnyApi({ ...request, body, signal: new AbortController().signal, remote: PROXY })
    } catch (error) {
      if (error instanceof UnreachableError) return null
      throw error
    }
  }

  async function checked(right: Right, request: AccessRequest): Promise<ApiResponse | null> {
    const sentMs = world.time.clock.now()
    const response = await send(request)
    const what = `${request.method} ${request.url}`
    if (response !== null) rights.answered(right, what, { sentMs, status: response.status, code: codeIn(response) })
    return response
  }

  return {
    /** A request with a credential, or with the role that it has. */
    use({ kind, secret, right, operator }: Credential, call: string, { json, asOperator = false }: UseOptions = {}) {
      const [method = '', path = ''] = call.split(' ')
      const headers = kind === 'token' ? { authorization: `Bearer ${secret}` } : { ...BROWSER, cookie: secret }
      const request = { method, url: `${API_PREFIX}/${path}`, headers, ...(json === undefined ? {} : { json }) }
      return checked(asOperator ? (operator ?? right) : right, request)
    },
    /** The cookie of the new session, or null. */
    async signIn({ kind, right, secret }: Credential): Promise<string | null> {
      const request = { method: 'POST', url: '/login', headers: BROWSER }
      // A link works once, so its refusal proves nothing.
      const response = await (kind === 'token'
        ? checked(right, { ...request, json: { token: secret } })
        : send({ ...request, json: { code: secret } }))
      return response?.status === 204 ? (response.headers['set-cookie']?.split(';')[0] ?? null) : null
    },
    /** Whether the logout was answered. */
    async signOut({ secret }: Credential): Promise<boolean> {
      const response = await send({ method: 'POST', url: '/logout', headers: { ...BROWSER, cookie: secret } })
      return response?.status === 204
    },
    tryToken: (secret: string) =>
      send({ method: 'GET', url: `${API_PREFIX}/info`, headers: { authorization: `Bearer ${secret}` } }),
  }
}

interface UseOptions {
  readonly json?: object
  readonly asOperator?: boolean
}

export type AccessRequests = ReturnType<typeof accessRequests>

function codeIn({ status, body }: ApiResponse): string {
  if (status < 400 || typeof body !== 'string') return ''
  return Problem.parse(JSON.parse(body)).code
}
