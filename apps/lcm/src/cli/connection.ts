import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { apiClient, type Client, UnreachableError } from '@lcm/client/client'
import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/route-spec'
import { CliError, EXIT } from './cli-error.ts'
import type { Shell } from './command-dependencies.ts'
import { askedOnce, wasNeverSent } from './idempotent-request.ts'

export const DATA_DIR_DEFAULT = '.lcm'

export interface ConnectionOptions {
  readonly url?: string
  readonly token?: string
  readonly data?: string
}

export interface Target {
  readonly url: string
  readonly token: string | null
  /** Advice if the API does not respond. */
  readonly advice: string
}

/** No LCM responds at the address. */
export class ConnectionError extends UnreachableError {
  constructor(message: string, advice: string, options?: ErrorOptions) {
    super(message, { ...options, advice })
  }
}

export interface Connection {
  readonly client: Client
  /** Sends requests outside the contract, with the token. */
  readonly dispatch: Dispatch
  readonly url: string
}

type Env = Shell['env']

export const dataDirOf = (options: ConnectionOptions, env: Env): string =>
  options.data || env.LCM_DATA || DATA_DIR_DEFAULT

/** Finds the API address: from the options, the environment or the data folder. */
export async function findTarget(options: ConnectionOptions, env: Env): Promise<Target> {
  if (options.token === '') throw new CliError(EXIT.usage, '--token is empty', 'set a token, or omit the option')
  const dataDir = dataDirOf(options, env)
  const named = options.url || env.LCM_URL
  const token = options.token || (await tokenOf(env))
  if (named) return namedTarget(checkedUrl(named), token, dataDir)
  const api = await readEndpoint(dataDir)
  if (api === null) {
    const message = `no LCM is running with data folder ${dataDir}`
    throw new CliError(EXIT.unreachable, message, 'start it with `npm start`, or set --url')
  }
  const advice = 'if it is stopped, start it with `npm start`, or set another address with --url'
  return { url: api, token: token || (await readToken(dataDir)), advice }
}

async function tokenOf(env: Env): Promise<string | undefined> {
  const path = env.LCM_TOKEN_FILE
  if (!path) return env.LCM_TOKEN
  if (env.LCM_TOKEN) throw new CliError(EXIT.usage, 'LCM_TOKEN and LCM_TOKEN_FILE are both set', 'set only one of them')
  const found = (await readIfThere(path))?.trim()
  if (found) return found
  throw new CliError(EXIT.usage, `LCM_TOKEN_FILE=${path} has no token`, 'write the token into this file')
}

async function namedTarget(url: string, token: string | undefined, dataDir: string): Promise<Target> {
  const advice = 'check the address in --url or LCM_URL'
  if (token) return { url, token, advice }
  // The token of the data folder must never be sent to another address.
  const own = await readEndpoint(dataDir).catch(() => null)
  const isOwn = own !== null && placeOf(own) === placeOf(url)
  return { url, token: isOwn ? await readToken(dataDir) : null, advice }
}

function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.origin
  throw new CliError(EXIT.usage, `invalid address "${text}"`, 'use one such as --url http://127.0.0.1:8080')
}

/** Scheme, host and port, where all loopback names are equal. */
const placeOf = (text: string): string =>
  new URL(text).origin.replace(/\/\/(localhost|127\.0\.0\.1|\[::1\])(?=:|$)/, '//loopback')

async function readEndpoint(dataDir: string): Promise<string | null> {
  const text = await readIfThere(join(dataDir, 'endpoints.json'))
  if (text === null) return null
  const api = apiIn(text)
  if (api !== null) return api
  const message = `${join(dataDir, 'endpoints.json')} is damaged`
  throw new CliError(EXIT.unreachable, message, 'start LCM again with `npm start`, or set --url')
}

function apiIn(text: string): string | null {
  try {
    const endpoints: unknown = JSON.parse(text)
    if (typeof endpoints !== 'object' || endpoints === null || !('api' in endpoints)) return null
    return typeof endpoints.api === 'string' && URL.canParse(endpoints.api) ? endpoints.api : null
  } catch {
    return null
  }
}

const readToken = async (dataDir: string): Promise<string | null> =>
  (await readIfThere(join(dataDir, 'admin-token')))?.trim() || null

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    const exitCode = code === 'EACCES' ? EXIT.notAllowed : EXIT.failed
    throw new CliError(
      exitCode,
      `${path} can't be read (${code})`,
      'ask its owner for access, or use --url and --token',
    )
  }
}

export async function connect(options: ConnectionOptions, shell: Shell): Promise<Connection> {
  const target = await findTarget(options, shell.env)
  const transport = explained(askedOnce(await shell.transport(target.url), shell), target)
  const { url, token } = target
  const named = token === null ? {} : { authorization: `Bearer ${token}` }
  return {
    client: apiClient(transport, token === null ? {} : { token }),
    dispatch: request => transport({ ...request, headers: { ...named, ...request.headers } }),
    url,
  }
}

/** Adds advice to connection errors. */
function explained(transport: Dispatch, target: Target): Dispatch {
  return async request => {
    const response = await transport(request).catch((error: unknown) => {
      throw error instanceof UnreachableError ? unanswered(error, request, target) : error
    })
    if (isOurs(response)) return response
    throw new ConnectionError(`the server at ${target.url} is not an LCM API`, target.advice)
  }
}

function unanswered(error: UnreachableError, request: ApiRequest, target: Target): ConnectionError {
  if (error.advice !== null) return new ConnectionError(error.message, error.advice, { cause: error })
  const doubt =
    request.method === 'GET' || wasNeverSent(error)
      ? ''
      : ' (the request may have been performed: check before you repeat it)'
  return new ConnectionError(`LCM does not respond at ${target.url}${doubt}`, target.advice, { cause: error })
}

const isOurs = ({ status, headers, body }: ApiResponse): boolean =>
  status >= 400 || !body || /^(application\/json|text\/event-stream)\b/.test(headers['content-type'] ?? '')
