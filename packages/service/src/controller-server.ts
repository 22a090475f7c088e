import fastify from 'fastify'
import { answerOf, type ControllerFace } from './controller-face.ts'

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
  app.all('/*', async (request, reply) => {
    const token = /^Bearer (\S{1,8192})$/i.exec(request.headers.authorization ?? '')?.[1]
    const path = request.url.split('?')[0] ?? ''
    const isOpen = metricsPublic && path === '/metrics'
    const roleOf = async () => (isOpen ? 'user' : token === undefined ? null : options.roleOf(token))
    const { status, body } = await answerOf(face, { method: request.method, path }, roleOf)
    const type = typeof body === 'string' ? 'text/plain; version=0.0.4' : typeOf(status)
    return reply.code(status).type(type).send(body)
  })
  await app.listen({ host: options.host, port: options.port })
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  return { url: `http://${options.host}:${port}`, close: () => app.close() }
}

const typeOf = (status: number): string => (status < 400 ? 'application/json' : 'application/problem+json')
