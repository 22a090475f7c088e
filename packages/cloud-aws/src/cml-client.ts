import type { CmlEndpoint, CmlProbe, CmlSystem } from '@lcm/cloud/cml-system'
import type { CmlStage } from '@lcm/domain/worker/boot'
import type { Clock } from '@lcm/runtime/clock'
import type { Dispatcher } from 'undici'
import { type Limits, withinDeadline } from './deadline.ts'
import { type StagedConnection, stagedConnection } from './staged-connector.ts'

const DEADLINE_MS = 3000
const BODY_BYTES_MAX = 64 * 1024
const VERSION_CHARS_MAX = 100
const PATH = '/api/v0/system_information'

export interface CmlSystemClientOptions {
  readonly clock: Clock
}

/**
 * The CML System API over HTTPS. Each probe opens a connection of its own, since it is to prove every step from TCP on;
 * a kept one would answer for a server that no longer accepts anybody.
 */
export function cmlSystemClient({ clock }: CmlSystemClientOptions): CmlSystem & { close(): Promise<void> } {
  const closing = new AbortController()
  const inFlight = new Set<Promise<CmlProbe>>()
  return {
    probe(endpoint, signal) {
      const limits = { clock, deadlineMs: DEADLINE_MS, signals: [signal, closing.signal] }
      const probe = probeOnce(endpoint, limits).finally(() => inFlight.delete(probe))
      inFlight.add(probe)
      return probe
    },
    async close() {
      closing.abort()
      await Promise.all(inFlight)
    },
  }
}

async function probeOnce(endpoint: CmlEndpoint, limits: Limits): Promise<CmlProbe> {
  const connection = stagedConnection()
  try {
    const answer = await withinDeadline(limits, signal => ask(endpoint, connection, signal))
    return judged(answer, connection)
  } catch (error) {
    return { ...connection.progress, version: null, detail: reasonOf(error) }
  } finally {
    connection.destroy()
  }
}

interface Answer {
  readonly status: number
  readonly body: string
}

async function ask(endpoint: CmlEndpoint, connection: StagedConnection, signal: AbortSignal): Promise<Answer> {
  const url = new URL(endpoint.url)
  if (!/^https?:$/.test(url.protocol)) throw new TypeError(`${url.protocol} is not a scheme of CML`)
  const { Client } = await import('undici')
  // The deadline is ours alone, so undici's own are off. It overlooks a connector that calls back at once.
  const client = new Client(url.origin, {
    connect: (_options, callback) => {
      connection.open(url, endpoint.certificate_sha256).then(
        socket => callback(null, socket),
        (error: Error) => callback(error, null),
      )
    },
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  try {
    const request = { path: PATH, method: 'GET', headers: { accept: 'application/json' }, signal } as const
    const response = await client.request(request)
    return { status: response.statusCode, body: await bodyOf(response.body) }
  } finally {
    await client.destroy()
  }
}

async function bodyOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw new Error(`the answer is longer than ${BODY_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Whatever answers HTTP without being CML's controller counts as the gateway in front of it. */
function judged({ status, body }: Answer, connection: StagedConnection): CmlProbe {
  const seen = (stage: CmlStage, detail: string, version: string | null = null): CmlProbe => ({
    stage,
    version,
    certificate_sha256: connection.progress.certificate_sha256,
    detail,
  })
  if (status !== 200) return seen('GATEWAY', `answered ${status}`)
  const information = objectIn(body)
  if (!information) return seen('GATEWAY', 'answered 200, but not with the JSON of CML')
  const version = typeof information.version === 'string' ? information.version.slice(0, VERSION_CHARS_MAX) : null
  if (information.ready === true) return seen('READY', '', version)
  return seen('API', 'CML is up but not ready to start nodes', version)
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  if (code === 'ECONNREFUSED') return 'connection refused'
  return error.message
}
