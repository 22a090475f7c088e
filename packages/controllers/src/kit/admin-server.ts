import { isIPv6 } from 'node:net'
import fastify from 'fastify'
import { type AdminApi, type AdminResponse, answerAdminRequest, problem } from './admin-api.ts'

/** Serves the admin API on a port of its own. Roles come from the LCM API; a controller keeps no users. */
export async function startAdminServer(options: {
  api: AdminApi
  /** The role of the bearer of this token, or null for an unknown one. */
  roleOf(token: string): Promise<string | null>
  /** Serves `/metrics` without a token, so also while the LCM API is down. */
  metricsPublic?: boolean
  host: string
  port: number
}): Promise<{ url: string; close(): Promise<void> }> {
  const { api, metricsPublic = false } = options
  const app = fastify({ forceCloseConnections: true, requestTimeout: 10_000 })
  const knownRole = (token: string) =>
    options.roleOf(token).catch((cause: unknown) => {
      throw new UnknownRole('the role could not be read from the API', { cause })
    })
  app.all('/*', async (request, reply) => {
    const token = /^Bearer (\S{1,8192})$/i.exec(request.headers.authorization ?? '')?.[1]
    const path = request.url.split('?')[0] ?? ''
    const isOpen = metricsPublic && path === '/metrics'
    const roleOf = async () => (isOpen ? 'user' : token === undefined ? null : knownRole(token))
    // Node.js leaves out the body of the response.
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const { status, body } = await answerAdminRequest(api, { method, path }, roleOf).catch(unknownRoleResponse)
    const type = typeof body === 'string' ? 'text/plain; version=0.0.4' : typeOf(status)
    return reply.code(status).type(type).send(body)
  })
  await app.listen({ host: options.host, port: options.port })
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  const host = isIPv6(options.host) ? `[${options.host}]` : options.host
  return { url: `http://${host}:${port}`, close: () => app.close() }
}

class UnknownRole extends Error {}

function unknownRoleResponse(error: unknown): AdminResponse {
  if (!(error instanceof UnknownRole)) throw error
  return problem(
    503,
    'api_unavailable',
    'the LCM API does not answer, so the role of the caller is unknown; try again in a moment',
  )
}

const typeOf = (status: number): string => (status < 400 ? 'application/json' : 'application/problem+json')
