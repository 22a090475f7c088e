import {
  apiEnvironment,
  type Env,
  labletControllerEnvironment,
  readBoth,
  resourceSchedulerEnvironment,
  settingsEnvironment,
  workerControllerEnvironment,
} from './environment/environment.ts'
import { unknownVariables, unreadSettings } from './environment/unknown-variables.ts'
import { serveApi } from './serve-api.ts'
import { serveLabletController, serveResourceScheduler, serveWorkerController } from './serve-controllers.ts'
import type { Io } from './up.ts'

/** The services of the cluster profile, with their default ports. */
export const SERVED = {
  'control-plane-api': 8080,
  'resource-scheduler': 8081,
  'lablet-controller': 8082,
  'worker-controller': 8083,
} as const
export type ServedService = keyof typeof SERVED

export interface ServeOptions {
  readonly service: ServedService
  readonly host: string
  /** Null uses the default port of the service. */
  readonly port: number | null
  readonly env: Env
}

/** Runs one service as a separate process until the signal aborts. Everything else is configured by environment variables. */
export function serve({ service, host, port, env }: ServeOptions, io: Io): Promise<void> {
  const at = { host, port: port ?? SERVED[service] }
  const warnings = [...unknownVariables(env), ...(service === 'control-plane-api' ? [] : unreadSettings(service, env))]
  for (const line of warnings) io.err(line)
  switch (service) {
    case 'control-plane-api':
      return serveApi(...withSettings(apiEnvironment, env), at, io)
    case 'resource-scheduler':
      return serveResourceScheduler(withSettings(resourceSchedulerEnvironment, env)[0], at, io)
    case 'lablet-controller':
      return serveLabletController(withSettings(labletControllerEnvironment, env)[0], at, io)
    case 'worker-controller':
      return serveWorkerController(withSettings(workerControllerEnvironment, env)[0], at, io)
  }
}

/** Validates settings in every service, although only the API uses them. */
const withSettings = <T>(read: (env: Env) => T, env: Env) =>
  readBoth(
    () => read(env),
    () => settingsEnvironment(env),
  )
