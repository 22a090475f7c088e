import { isIPv6 } from 'node:net'
import fastify from 'fastify'
import { answerOf, type ControllerFace, type FaceAnswer, refusal } from './admin-api.ts'

/** A controller's own port. The API knows who people are; a controller only asks it. */
export async function startControllerServer(options: {
  face: ControllerFace
  /** The role that the API gives the bearer of this token, or null. */
  roleOf(token: string): Promise<string | null>
  /** Whether `/metrics` answers strangers: then it goes on while the API is away. */
  metricsPublic?: boolean
  host: string
  port: number
}): Promise<{ url: string; close(): Promise<void> }> {
  const { face, metricsPublic = false } = options
  const app = fastify({ forceCloseConnections: true, requestTimeout: 10_000 })
  const knownRole = (token: string) =>
    options.roleOf(token).catch((cause: unknown) => {
      throw new UnknownRole('the API could not be asked', { cause })
    })
  app.all('/*', async (request, reply) => {
    const token = /^Bearer (\S{1,8192})$/i.exec(request.headers.authorization ?? '')?.[1]
    const path = request.url.split('?')[0] ?? ''
    const isOpen = metricsPublic && path === '/metrics'
    const roleOf = async () => (isOpen ? 'user' : token === undefined ? null : knownRole(token))
    // The body is left out by Node.js.
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const { status, body } = await answerOf(face, { method, path }, roleOf).catch(awayOrDefect)
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

function awayOrDefect(error: unknown): FaceAnswer {
  if (!(error instanceof UnknownRole)) throw error
  return refusal(503, 'api_unavailable', 'the API does not answer, so nobody can be recognised; try again in a moment')
}

const typeOf = (status: number): string => (status < 400 ? 'application/json' : 'application/problem+json')
