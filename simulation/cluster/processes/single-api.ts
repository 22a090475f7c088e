import { join } from 'node:path'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { systemClock } from '@lcm/runtime/clock'
import { openProcessEnvironment, type ProcessEnvironment } from './process-environment.ts'
import type { ServiceProcess } from './service-process.ts'

/** One process of the control plane on SQLite. It keeps its address over a restart. */
export interface SingleApi {
  readonly household: ProcessEnvironment
  readonly url: string
  /** The administrator. */
  readonly client: Client
  /** The one that was started last. */
  readonly process: ServiceProcess
  /** Answers with the exit code of the first, once the second listens. */
  restart(signal: NodeJS.Signals): Promise<number | null>
  /** For when it has ended. */
  start(): Promise<void>
}

export interface SingleApiOptions {
  readonly etcd: readonly string[]
  readonly leaseTtlSeconds: number
  /** What else it reads, by the folder of its household. */
  readonly env?: (folder: string) => Readonly<Record<string, string>>
  /** The command that runs it. */
  readonly within?: readonly string[]
}

export async function startSingleApi(options: SingleApiOptions): Promise<SingleApi> {
  const household = openProcessEnvironment({ ...options, store: folder => `sqlite:${join(folder, 'lcm.sqlite')}` })
  const env = { ...household.apiEnv, ...options.env?.(household.folder) }
  const start = (port: string) => household.start('api', ['control-plane-api', '--port', port], env, options.within)
  let api = await start('0')
  const { url } = api
  return {
    household,
    url,
    get process() {
      return api
    },
    async start() {
      api = await start(new URL(url).port)
    },
    client: apiClient(httpTransport({ baseUrl: url, clock: systemClock }), { token: household.adminToken }),
    async restart(signal) {
      api.signal(signal)
      const code = await api.exited
      api = await start(new URL(url).port)
      return code
    },
  }
}
