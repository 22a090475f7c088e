import type { CmlEndpoint } from '@lcm/cloud/cml-login'
import type { Clock } from '@lcm/runtime/clock'
import type { Client } from 'undici'
import { type AdmissionGate, admissionGate } from './admission-gate.ts'
import { type HttpRequest, type HttpResponse, loadHttpClient, type NewHttpClient, sendRequest } from './http-client.ts'
import { type TlsConnection, type Trust, tlsConnection } from './tls-connection.ts'

/** Below the keep-alive of servers (nginx 75 s, Node 5 s), so that we never write to a connection that is closing. */
const IDLE_MS = 4_000
const PER_SERVER_MAX = 8
const OPEN_MAX = 256

export interface CmlConnectionPool {
  /** One request and its response, on an idle connection if there is one. */
  send(endpoint: CmlEndpoint, request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  /** Connections that are open or being opened. */
  openCount(): number
  close(): Promise<void>
}

export interface CmlConnectionsOptions {
  readonly clock: Clock
  readonly trust: Trust
  /** Over all servers. */
  readonly openMax?: number
}

interface Connection {
  readonly key: string
  readonly client: Client
  destroy(): Promise<void>
}

/** At most eight connections to one server and `openMax` in total; idle ones are closed to stay below it. */
export function cmlConnectionPool({ clock, trust, openMax = OPEN_MAX }: CmlConnectionsOptions): CmlConnectionPool {
  const all = new Set<Connection>()
  /** Longest idle first, each with a function that stops its timer. */
  const idle = new Map<Connection, () => void>()
  const gates = new Map<string, AdmissionGate>()
  const everywhere = admissionGate(openMax)

  async function discard(connection: Connection): Promise<void> {
    takeFromIdle(connection)
    all.delete(connection)
    await connection.destroy()
  }
  function takeFromIdle(connection: Connection): Connection {
    idle.get(connection)?.()
    idle.delete(connection)
    return connection
  }
  function keep(connection: Connection): void {
    if (!all.has(connection)) return
    idle.set(
      connection,
      clock.after(IDLE_MS, () => void discard(connection)),
    )
  }
  function connectionTo(key: string, endpoint: CmlEndpoint, newClient: NewHttpClient): Connection {
    const kept = [...idle.keys()].findLast(connection => connection.key === key)
    if (kept) return takeFromIdle(kept)
    const [longestIdle] = idle.keys()
    if (all.size >= openMax && longestIdle) void discard(longestIdle)
    const connection = newConnection(key, { newClient, endpoint, trust })
    all.add(connection)
    return connection
  }
  async function exchange(key: string, asked: Asked, signal: AbortSignal): Promise<HttpResponse> {
    const newClient = await loadHttpClient()
    const connection = connectionTo(key, asked.endpoint, newClient)
    try {
      const answer = await sendRequest(connection.client, asked.request, signal)
      keep(connection)
      return answer
    } catch (error) {
      await discard(connection)
      throw error
    }
  }

  return {
    async send(endpoint, request, signal) {
      const key = keyOf(endpoint)
      const gate = gates.get(key) ?? admissionGate(PER_SERVER_MAX)
      gates.set(key, gate)
      try {
        const leaveServer = await gate.enter(signal)
        try {
          const leave = await everywhere.enter(signal)
          return await exchange(key, { endpoint, request }, signal).finally(leave)
        } finally {
          leaveServer()
        }
      } finally {
        if (gate.isEmpty()) gates.delete(key)
      }
    },
    openCount: () => all.size,
    async close() {
      await Promise.all([...all].map(discard))
    },
  }
}

interface Asked {
  readonly endpoint: CmlEndpoint
  readonly request: HttpRequest
}

/** The key includes the pin: a connection with fewer checks must not serve a caller that requires more. */
const keyOf = (endpoint: CmlEndpoint) => `${originOf(endpoint).origin} ${endpoint.certificate_sha256}`

export function originOf({ url }: CmlEndpoint): URL {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) throw new TypeError('not an address of a CML server')
  return parsed
}

interface Opening {
  readonly newClient: NewHttpClient
  readonly endpoint: CmlEndpoint
  readonly trust: Trust
}

function newConnection(key: string, { newClient, endpoint, trust }: Opening): Connection {
  const url = originOf(endpoint)
  let staged: TlsConnection | undefined
  // A client whose server has closed the connection reconnects by itself, and checks the certificate again.
  const client = newClient(url.origin, () => {
    staged = tlsConnection(trust)
    return staged.open(url, endpoint.certificate_sha256)
  })
  return {
    key,
    client,
    async destroy() {
      staged?.destroy()
      await client.destroy()
    },
  }
}
