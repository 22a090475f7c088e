import { join } from 'node:path'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { systemClock } from '@lcm/runtime/clock'
import { openProcessEnvironment, type ProcessEnvironment } from './process-environment.ts'
import type { ServiceProcess } from './service-process.ts'

/** One process of the API on SQLite. It keeps its address over a restart. */
export interface SingleApi {
  readonly environment: ProcessEnvironment
  readonly url: string
  /** The administrator. */
  readonly client: Client
  /** The current process. */
  readonly process: ServiceProcess
  /** Returns the exit code of the old process once the new one listens. */
  restart(signal: NodeJS.Signals): Promise<number | null>
  /** Starts the API again after it has ended. */
  start(): Promise<void>
}

export interface SingleApiOptions {
  readonly etcd: readonly string[]
  readonly leaseTtlSeconds: number
  /** Further environment variables. */
  readonly env?: (folder: string) => Readonly<Record<string, string>>
  /** Command prefix. */
  readonly within?: readonly string[]
}

export async function startSingleApi(options: SingleApiOptions): Promise<SingleApi> {
  const environment = openProcessEnvironment({ ...options, store: folder => `sqlite:${join(folder, 'lcm.sqlite')}` })
  const env = { ...environment.apiEnv, ...options.env?.(environment.folder) }
  const start = (port: string) => environment.start('api', ['control-plane-api', '--port', port], env, options.within)
  let api = await start('0')
  const { url } = api
  return {
    environment,
    url,
    get process() {
      return api
    },
    async start() {
      api = await start(new URL(url).port)
    },
    client: apiClient(httpTransport({ baseUrl: url, clock: systemClock }), { token: environment.adminToken }),
    async restart(signal) {
      api.signal(signal)
      const code = await api.exited
      api = await start(new URL(url).port)
      return code
    },
  }
}
