import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { isProblem } from '@lcm/client/api-error'
import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import type { Dispatch } from '@lcm/contract/wire'
import { startControllerServer } from '@lcm/controllers/kit/admin-server'
import { apiClock } from '@lcm/controllers/kit/api-clock'
import { pinoLogger } from '@lcm/controllers/kit/pino-logger'
import { promMeter } from '@lcm/controllers/kit/prom-meter'
import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { closingAfter } from './close-all.ts'
import type { ComposedController, ControllerParts } from './controller-composition.ts'
import type { ControllerEnvironment } from './environment/environment.ts'
import { etcdAwaited, etcdProblems, openEtcd } from './etcd.ts'
import { refusedToListen } from './http.ts'
import { hostInStages } from './shutdown-stages.ts'
import type { Io } from './up.ts'

export interface At {
  readonly host: string
  readonly port: number
}

/** A controller as a process of its own. Any number may run; one leads. `make` opens what it needs and says how to close it. */
export function serveController(
  { service, env, at }: { service: ServiceName; env: ControllerEnvironment; at: At },
  io: Io,
  make: (parts: ControllerParts, onClose: (close: () => unknown) => void) => ComposedController,
): Promise<void> {
  const logger = pinoLogger({ level: env.LCM_LOG_LEVEL, to: 'stdout' })
  return closingAfter(async onClose => {
    const coordination = openEtcd(env, logger)
    onClose(() => coordination.close())
    const { clock, hearing } = apiClock(systemClock)
    const transport = hearing(httpTransport({ baseUrl: env.CONTROL_PLANE_API_URL, clock: systemClock }))
    const instanceId = env.instanceId ?? `${hostname()}-${randomBytes(4).toString('hex')}`
    const parts: ControllerParts = {
      client: apiClient(transport, { token: env.LCM_SERVICE_TOKEN }),
      changeKeys: coordination.changeKeys,
      election: coordination.election(service, instanceId),
      logger,
      clock,
      meter: promMeter(),
      ending: io.signal,
      waitsFor: () => etcdAwaited(coordination),
      problems: () => etcdProblems(coordination),
    }
    const controller = make(parts, onClose)
    const metricsPublic = env.LCM_METRICS_PUBLIC
    const server = await startControllerServer({
      face: controller.face,
      roleOf: roleAt(transport),
      metricsPublic,
      ...at,
    }).catch((cause: unknown) => {
      throw refusedToListen(cause, at)
    })
    onClose(() => server.close())
    io.out(`${service} ${instanceId} listens on ${server.url}`)
    io.hurry?.addEventListener('abort', () => controller.abandon())
    await hostInStages([[controller.work], controller.reports], io.signal, { logger })
  })
}

/** The API knows who people are. */
const roleAt = (transport: Dispatch) => async (token: string) => {
  try {
    return (await apiClient(transport, { token }).call('info', {})).actor.role
  } catch (error) {
    if (isProblem(error, 'unauthenticated')) return null
    throw error
  }
}
