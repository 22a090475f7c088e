import {
  apiEnvironment,
  labletControllerEnvironment,
  resourceSchedulerEnvironment,
  settingsEnvironment,
  workerControllerEnvironment,
} from './environment/environment.ts'
import { type Env, openSecretFiles, readBoth } from './environment/read-environment.ts'
import { unknownVariables, unreadSettings } from './environment/unknown-variables.ts'
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

/**
 * Runs one service as a separate process until the signal aborts. Everything else is configured by environment variables. Only the
 * code of that service is loaded.
 */
export async function serve({ service, host, port, env }: ServeOptions, io: Io): Promise<void> {
  const at = { host, port: port ?? SERVED[service] }
  const unread = service === 'control-plane-api' ? [] : unreadSettings(service, env)
  for (const line of [...unknownVariables(env), ...unread, ...openSecretFiles(env)]) io.err(line)
  switch (service) {
    case 'control-plane-api':
      return (await import('./serve-api.ts')).serveApi(...withSettings(apiEnvironment, env), at, io)
    case 'resource-scheduler':
      return (await import('./serve-resource-scheduler.ts')).serveResourceScheduler(
        withSettings(resourceSchedulerEnvironment, env)[0],
        at,
        io,
      )
    case 'lablet-controller':
      return (await import('./serve-lablet-controller.ts')).serveLabletController(
        withSettings(labletControllerEnvironment, env)[0],
        at,
        io,
      )
    case 'worker-controller':
      return (await import('./serve-worker-controller.ts')).serveWorkerController(
        withSettings(workerControllerEnvironment, env)[0],
        at,
        io,
      )
  }
}

/** Validates settings in every service, although only the API uses them. */
const withSettings = <T>(read: (env: Env) => T, env: Env) =>
  readBoth(
    () => read(env),
    () => settingsEnvironment(env),
  )
