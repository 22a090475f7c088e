import { type IncomingMessage, request as requestPlainly } from 'node:http'
import { request as requestEncrypted } from 'node:https'
import type { EtcdTls } from './connection.ts'
import { EtcdEndpointError, parseEndpoint } from './endpoint.ts'
import { type EtcdError, etcdErrorFrom } from './errors.ts'
import type { EtcdAuth } from './members.ts'

export interface EtcdCheckOptions {
  /** As `EtcdCoordinationOptions.endpoints`. Rejects with `EtcdEndpointError`. */
  readonly endpoints: readonly string[]
  readonly tls?: EtcdTls
  readonly auth?: EtcdAuth
  /** Key that tests read permission. */
  readonly probeKey: string
  readonly signal: AbortSignal
}

/** State of one etcd member, and the problem that keeps us from using it. */
export interface EtcdMemberCheck {
  readonly endpoint: string
  /** Null when the member responds and allows reads. */
  readonly problem: EtcdError | null
  readonly version: string | null
  /** The member's clock, to the second. */
  readonly atMs: number | null
  /** Null when unknown. */
  readonly hasLeader: boolean | null
  /** Such as `NOSPACE`. */
  readonly alarms: readonly string[]
}

const NOTHING = { version: null, atMs: null, hasLeader: null, alarms: [] }

/** Uses the HTTP gateway of each member, which reports time and version without gRPC. */
export async function checkEtcd(options: EtcdCheckOptions): Promise<readonly EtcdMemberCheck[]> {
  if (options.endpoints.length === 0) throw new EtcdEndpointError('')
  return Promise.all(options.endpoints.map(endpoint => examineMember(endpoint, options)))
}

async function examineMember(text: string, options: EtcdCheckOptions): Promise<EtcdMemberCheck> {
  const { name, isEncrypted } = parseEndpoint(text, options.tls !== undefined)
  const ask = asking({ base: `${isEncrypted ? 'https' : 'http'}://${name}`, options })
  const refused = (details: string, code: number) => etcdErrorFrom(name, { code, details })
  try {
    const [version, health, status] = await Promise.all([
      ask('GET', '/version'),
      ask('GET', '/health'),
      ask('POST', '/v3/maintenance/status', {}),
    ])
    const reported = {
      version: wordIn(version.body, 'etcdserver'),
      atMs: version.atMs,
      hasLeader: hasLeader(health, status),
      alarms: alarmsIn(health, status),
    }
    const denial = await denialOf(ask, options)
    return { endpoint: name, problem: denial === null ? null : refused(denial.details, denial.code), ...reported }
  } catch (error) {
    return { endpoint: name, problem: refused(wordsOf(error), UNAVAILABLE), ...NOTHING }
  }
}

const UNAVAILABLE = 14
const UNKNOWN = 2

const wordsOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.message === '' && 'code' in error ? String(error.code) : error.message
}

interface Answer {
  readonly status: number
  readonly body: unknown
  readonly atMs: number | null
}
type Ask = (method: 'GET' | 'POST', path: string, body?: object, token?: string) => Promise<Answer>

function asking({ base, options }: { base: string; options: EtcdCheckOptions }): Ask {
  const { tls = {}, signal } = options
  const trust = { ca: tls.ca, cert: tls.certificate, key: tls.key }
  return (method, path, body, token) =>
    new Promise((resolve, reject) => {
      const headers = token === undefined ? {} : { authorization: token }
      const url = new URL(path, base)
      const given = { method, headers, signal, agent: false }
      const answer = (response: IncomingMessage) => void answerOf(response).then(resolve, reject)
      const request =
        url.protocol === 'https:'
          ? requestEncrypted(url, { ...given, ...trust }, answer)
          : requestPlainly(url, given, answer)
      request.on('error', reject)
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
}

const ANSWER_CHARS_MAX = 100_000

async function answerOf(response: IncomingMessage): Promise<Answer> {
  let text = ''
  for await (const chunk of response) {
    text += chunk
    if (text.length > ANSWER_CHARS_MAX) throw new Error("the response is larger than etcd's would be")
  }
  const atMs = Date.parse(response.headers.date ?? '')
  return { status: response.statusCode ?? 0, body: parsed(text), atMs: Number.isNaN(atMs) ? null : atMs }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function partOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Object.entries(body).find(([key]) => key === name)?.[1] : undefined
}

function wordIn(body: unknown, name: string): string | null {
  const value = partOf(body, name)
  return typeof value === 'string' && value !== '' ? value : null
}

function hasLeader(health: Answer, { status, body }: Answer): boolean | null {
  if (/no leader/i.test(wordIn(health.body, 'reason') ?? '')) return false
  if (status !== 200) return null
  return wordIn(body, 'leader') !== null && wordIn(body, 'leader') !== '0'
}

/** Newer releases list alarms in their health, older ones only in their status. */
function alarmsIn(health: Answer, status: Answer): readonly string[] {
  const errors = partOf(status.body, 'errors')
  const messages = [wordIn(health.body, 'reason') ?? '', ...(Array.isArray(errors) ? errors.map(String) : [])]
  const named = messages.flatMap(text => ['NOSPACE', 'CORRUPT'].filter(alarm => text.includes(alarm)))
  return [...new Set(named)]
}

interface Denial {
  readonly details: string
  readonly code: number
}

/** Why reads are denied; null when they are allowed or the HTTP gateway is off. */
async function denialOf(ask: Ask, { auth, probeKey }: EtcdCheckOptions): Promise<Denial | null> {
  const login = auth === undefined ? null : await ask('POST', '/v3/auth/authenticate', namedUser(auth))
  const token = login === null ? null : wordIn(login.body, 'token')
  const refusedLogin = login === null || token !== null ? null : refusalIn(login)
  // With authentication disabled, etcd rejects the login but allows everything.
  if (refusedLogin !== null && !/authentication is not enabled/.test(refusedLogin.details)) return refusedLogin
  const key = Buffer.from(probeKey).toString('base64')
  return refusalIn(await ask('POST', '/v3/kv/range', { key, limit: 1, keys_only: true }, token ?? undefined))
}

const namedUser = ({ user, password }: EtcdAuth) => ({ name: user, password })

const NOT_FOUND = 404

function refusalIn({ status, body }: Answer): Denial | null {
  if (status === 200 || status === NOT_FOUND) return null
  const code = partOf(body, 'code')
  const details = wordIn(body, 'message') ?? wordIn(body, 'error') ?? `status ${status}`
  return { details, code: typeof code === 'number' ? code : UNKNOWN }
}
