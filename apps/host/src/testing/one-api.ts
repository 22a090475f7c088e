import { join } from 'node:path'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { systemClock } from '@lcm/runtime/clock'
import { type Household, openHousehold } from './household.ts'

/** One process of the control plane on SQLite. It keeps its address over a restart. */
export interface OneApi {
  readonly household: Household
  readonly url: string
  /** The administrator. */
  readonly client: Client
  /** Answers with the exit code of the first, once the second listens. */
  restart(signal: NodeJS.Signals): Promise<number | null>
}

export async function startOneApi(options: { etcd: readonly string[]; leaseTtlSeconds: number }): Promise<OneApi> {
  const household = openHousehold({ ...options, store: folder => `sqlite:${join(folder, 'lcm.sqlite')}` })
  const start = (port: string) => household.start('api', ['control-plane-api', '--port', port], household.apiEnv)
  let api = await start('0')
  const { url } = api
  return {
    household,
    url,
    client: apiClient(httpTransport({ baseUrl: url, clock: systemClock }), { token: household.adminToken }),
    async restart(signal) {
      api.signal(signal)
      const code = await api.exited
      api = await start(new URL(url).port)
      return code
    },
  }
}
