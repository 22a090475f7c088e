import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import { isIPv6 } from 'node:net'
import { type CertificatePair, createHttpServer, replaceCertificate } from '@lcm/runtime/http-server'
import { type AdminApi, type AdminResponse, answerAdminRequest, problem } from './admin-api.ts'

export interface AdminServer {
  readonly url: string
  /** Replaces the certificate for new connections. Open ones continue. */
  useCertificate(pair: CertificatePair): void
  close(): Promise<void>
}

/** Serves the admin API on a port of its own. Roles come from the LCM API; a controller keeps no users. */
export async function startAdminServer(options: {
  api: AdminApi
  /** The role of the bearer of this token, or null for an unknown one. */
  roleOf(token: string): Promise<string | null>
  /** Serves `/metrics` without a token, so also while the LCM API is down. */
  metricsPublic?: boolean
  /** Serves HTTPS with it; null serves HTTP. */
  certificate?: CertificatePair | null
  host: string
  port: number
}): Promise<AdminServer> {
  const { api, metricsPublic = false, certificate = null } = options
  const knownRole = (token: string) =>
    options.roleOf(token).catch((cause: unknown) => {
      throw new UnknownRole('the role could not be read from the API', { cause })
    })
  const answer = (request: IncomingMessage) => {
    const token = /^Bearer (\S{1,8192})$/i.exec(request.headers.authorization ?? '')?.[1]
    const path = request.url?.split('?')[0] ?? ''
    const isOpen = metricsPublic && path === '/metrics'
    const roleOf = async () => (isOpen ? 'user' : token === undefined ? null : knownRole(token))
    // Node.js leaves out the body of the response.
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '')
    return answerAdminRequest(api, { method, path }, roleOf)
  }
  const server = createHttpServer({ requestTimeout: 10_000, certificate }, async (request, response) => {
    // No operation has a body.
    request.resume()
    const { status, body } = await answer(request).catch(failureResponse)
    const isText = typeof body === 'string'
    const type = isText ? 'text/plain; version=0.0.4' : typeOf(status)
    response.writeHead(status, { 'content-type': `${type}; charset=utf-8` }).end(isText ? body : JSON.stringify(body))
  })
  server.listen({ host: options.host, port: options.port })
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  const host = isIPv6(options.host) ? `[${options.host}]` : options.host
  return {
    url: `${certificate === null ? 'http' : 'https'}://${host}:${port}`,
    useCertificate: pair => replaceCertificate(server, pair),
    close: () => close(server),
  }
}

async function close(server: Server): Promise<void> {
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}

class UnknownRole extends Error {}

function failureResponse(error: unknown): AdminResponse {
  if (!(error instanceof UnknownRole))
    return problem(500, 'internal_error', 'something went wrong inside this controller')
  return problem(
    503,
    'api_unavailable',
    'the LCM API does not answer, so the role of the caller is unknown; try again in a moment',
  )
}

const typeOf = (status: number): string => (status < 400 ? 'application/json' : 'application/problem+json')
