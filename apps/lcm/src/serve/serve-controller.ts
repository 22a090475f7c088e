import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { apiClient, isProblem } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import type { Dispatch } from '@lcm/contract/route-spec'
import { startAdminServer } from '@lcm/controllers/kit/admin-server'
import { apiClock } from '@lcm/controllers/kit/api-clock'
import { composeController, type ProcessParts } from '@lcm/controllers/kit/compose-controller'
import type { Controller, ControllerParts } from '@lcm/controllers/kit/controller-types'
import { promMeter } from '@lcm/controllers/kit/metrics'
import { pinoLogger } from '@lcm/controllers/kit/pino-logger'
import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { closingAfter } from './close-in-reverse-order.ts'
import type { ControllerEnvironment } from './environment/environment.ts'
import { etcdAwaited, etcdProblems, openEtcd } from './etcd.ts'
import { hostInStages } from './shutdown-stages.ts'
import { refusedToListen } from './startup-error.ts'
import { fetchTrusting } from './tls/fetch-trusting.ts'
import { openServerCertificate } from './tls/server-certificate.ts'
import type { Io } from './up.ts'
import { VERSION } from './version.ts'

export interface At {
  readonly host: string
  readonly port: number
}

interface ControllerProcess {
  readonly service: ServiceName
  readonly env: ControllerEnvironment
  readonly instanceId: string | undefined
  readonly at: At
}

/** A controller as a process of its own. Any number may run; one leads. `onClose` closes what `create` opened. */
export function serveController(
  { service, env, instanceId = `${hostname()}-${randomBytes(4).toString('hex')}`, at }: ControllerProcess,
  io: Io,
  create: (parts: ControllerParts, onClose: (close: () => unknown) => void) => Controller,
): Promise<void> {
  const logger = pinoLogger({ level: env.LCM_LOG_LEVEL, to: 'stdout' })
  return closingAfter(async onClose => {
    const meter = promMeter()
    const certificate = openServerCertificate(env, { clock: systemClock, logger, meter })
    onClose(() => certificate.close())
    const coordination = openEtcd(env, logger)
    onClose(() => coordination.close())
    const { clock: apiTime, hearing } = apiClock(systemClock)
    const transport = hearing(
      httpTransport({
        baseUrl: env.CONTROL_PLANE_API_URL,
        clock: systemClock,
        fetch: await fetchTrusting(env.LCM_CA_FILE),
      }),
    )
    const parts: ProcessParts = {
      version: VERSION,
      client: apiClient(transport, { token: env.LCM_SERVICE_TOKEN }),
      changeKeys: coordination.changeKeys,
      election: coordination.election(service, instanceId),
      logger,
      clock: apiTime,
      meter,
      ending: io.signal,
      waitsFor: () => etcdAwaited(coordination),
      problems: () => [...etcdProblems(coordination), ...certificate.problems()],
    }
    const controller = composeController(service, parts, shared => create(shared, onClose))
    const metricsPublic = env.LCM_METRICS_PUBLIC
    const server = await startAdminServer({
      api: controller.admin,
      roleOf: roleAt(transport),
      metricsPublic,
      certificate: certificate.pair,
      ...at,
    }).catch((cause: unknown) => {
      throw refusedToListen(cause, at)
    })
    onClose(() => server.close())
    certificate.follow(server.useCertificate)
    io.out(`${service} ${instanceId} listens on ${server.url}`)
    io.hurry?.addEventListener('abort', () => controller.abandon())
    await hostInStages([[controller.work], controller.reports], io.signal, { logger })
  })
}

/** Roles come from the API: a controller keeps no users. */
const roleAt = (transport: Dispatch) => async (token: string) => {
  try {
    return (await apiClient(transport, { token }).call('info', {})).actor.role
  } catch (error) {
    if (isProblem(error, 'unauthenticated')) return null
    throw error
  }
}
