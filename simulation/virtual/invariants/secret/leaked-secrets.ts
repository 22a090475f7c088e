import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/route-spec'
import type { Logger } from '@lcm/runtime'
import { PLANTED } from '../../world/planted-secrets.ts'

/** Routes that return secrets to controllers. */
const SECRET_ROUTES = /\/(secrets|user-data)(\?|$)/
/** Depth of nested errors and objects. */
const DEPTH_MAX = 5

const holdsSecret = (text: string | null): boolean => text !== null && PLANTED.some(secret => text.includes(secret))
const bytesHoldSecret = (data: Uint8Array): boolean =>
  PLANTED.some(secret => Buffer.from(data.buffer, data.byteOffset, data.byteLength).includes(secret))

export interface SecretParts {
  /** The tokens of the controllers. */
  readonly controllerTokens: readonly string[]
  violated(rule: string): void
}

/** No response and no event contains a planted secret, except the secret routes for controllers; no controller writes one. */
export function withoutLeakedSecrets(dispatch: Dispatch, { controllerTokens, violated }: SecretParts): Dispatch {
  const authorized = new Set(controllerTokens.map(token => `Bearer ${token}`))
  return async request => {
    const isController = authorized.has(request.headers.authorization ?? '')
    if (isController && holdsSecret(request.body)) violated(`a secret was written by ${nameOf(request)}`)
    const response = await dispatch(request)
    if (isController && SECRET_ROUTES.test(request.url)) return response
    if (leaks(response)) violated(`a secret was sent by ${nameOf(request)}`)
    const { body } = response
    if (body === null || typeof body === 'string' || response.bytes !== undefined) return response
    return { ...response, body: scanned(body, () => violated(`a secret was sent by ${nameOf(request)}`)) }
  }
}

const nameOf = ({ method, url }: ApiRequest): string => `${method} ${url.split('?')[0]}`

function leaks(response: ApiResponse): boolean {
  if (response.bytes !== undefined) return bytesHoldSecret(response.bytes.data)
  return typeof response.body === 'string' && holdsSecret(response.body)
}

async function* scanned(chunks: AsyncIterable<string>, leaked: () => void): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    if (holdsSecret(chunk)) leaked()
    yield chunk
  }
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** A logger that writes nothing and reports planted secrets in messages and fields. */
export function scanningLogger(
  violated: (rule: string) => void,
  onLine: (level: LogLevel, message: string) => void = () => undefined,
): Logger {
  const scan = (fields: object, message: string) => {
    if (holdsSecret(message) || Object.values(fields).some(value => containsSecret(value, DEPTH_MAX)))
      violated(`a secret was logged: ${message.slice(0, 40)}`)
  }
  const line = (level: LogLevel) => (fields: object, message: string) => {
    scan(fields, message)
    onLine(level, message)
  }
  const logger: Logger = {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child(fields) {
      scan(fields, 'child logger')
      return logger
    },
  }
  return logger
}

function containsSecret(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return holdsSecret(value)
  if (typeof value !== 'object' || value === null || depth === 0) return false
  const shown = value instanceof Error ? [value.message, value.stack, value.cause] : []
  return [...shown, ...Object.values(value)].some(each => containsSecret(each, depth - 1))
}
