import type { LeaderStatus } from '@lcm/runtime'
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'

export interface ControllerHealth {
  readonly status: 'healthy' | 'degraded' | 'unhealthy'
  readonly is_leader: boolean
  readonly instance_id: string
  readonly last_reconciliation: string | null
  /** What keeps it from being healthy, each in a sentence. */
  readonly problems: readonly string[]
}

/** What a controller shows of itself over HTTP. The same for all of them. */
export interface ControllerFace {
  readonly service: string
  readonly version: string
  health(): ControllerHealth
  leader(): LeaderStatus
  metrics(): Promise<string>
  /** Looks at everything now; false when this instance does not lead. */
  trigger(): boolean
  resign(): Promise<void>
  /** The role that the API gives the bearer of this token, or null. */
  roleOf(token: string): Promise<string | null>
}

/** Leader and standby are equally healthy: health tells whether the process works, not whether it won. */
export async function startControllerServer(options: {
  face: ControllerFace
  host: string
  port: number
}): Promise<{ url: string; close(): Promise<void> }> {
  const { face } = options
  const app = fastify({ forceCloseConnections: true, requestTimeout: 10_000 })
  app.get('/health', async (_, reply) => {
    const health = face.health()
    return reply.code(health.status === 'unhealthy' ? 503 : 200).send(health)
  })
  app.get('/ready', async () => ({ ready: true }))
  app.get('/info', async () => ({ service: face.service, version: face.version }))
  app.get('/metrics', { preHandler: bearerOf(face, () => true) }, async (_, reply) =>
    reply.type('text/plain; version=0.0.4').send(await face.metrics()),
  )
  const adminOnly = { preHandler: bearerOf(face, role => role === 'admin') }
  app.get('/admin/leader-status', adminOnly, async () => face.leader())
  app.post('/admin/trigger-reconcile', adminOnly, async (_, reply) =>
    face.trigger()
      ? reply.code(202).send({ triggered: true })
      : reply.code(409).send(refusal(409, 'not_leader', 'this instance does not lead')),
  )
  app.post('/admin/resign-leadership', adminOnly, async (_, reply) => {
    await face.resign()
    return reply.code(202).send({ resigned: true })
  })
  await app.listen({ host: options.host, port: options.port })
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  return { url: `http://${options.host}:${port}`, close: () => app.close() }
}

/** The API knows who people are; a controller only asks it. */
const bearerOf =
  (face: ControllerFace, allows: (role: string) => boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    const token = /^Bearer (\S{1,512})$/i.exec(request.headers.authorization ?? '')?.[1]
    const role = token === undefined ? null : await face.roleOf(token)
    if (role === null)
      return reply.code(401).send(refusal(401, 'unauthenticated', 'send a bearer token that the API knows'))
    if (!allows(role)) return reply.code(403).send(refusal(403, 'forbidden', `${role} may not do this`))
    return undefined
  }

const refusal = (status: number, code: string, detail: string) => ({
  type: 'about:blank',
  title: code,
  status,
  detail,
  code,
})
