import { type CuttableProxy, startCuttableProxy, startCuttableProxyToPort } from '../processes/cuttable-proxy.ts'

/** All connections of one process to one server. While they are shut no byte passes and no connection ends. */
export interface Connection {
  readonly endpoints: readonly string[]
  /** Number of connections so far. */
  readonly passed: number
  shut(): void
  open(): void
  close(): void
}

export const startConnection = async (targets: readonly string[]): Promise<Connection> =>
  connectionOf(await Promise.all(targets.map(startCuttableProxy)))

/** Connections to one port of every machine. */
export const startConnectionToPort = async (port: number): Promise<Connection> =>
  connectionOf([await startCuttableProxyToPort(port)])

function connectionOf(proxies: readonly CuttableProxy[]): Connection {
  const all = (act: (proxy: CuttableProxy) => void) => () => {
    for (const proxy of proxies) act(proxy)
  }
  return {
    endpoints: proxies.map(({ endpoint }) => endpoint),
    get passed() {
      return proxies.reduce((sum, proxy) => sum + proxy.passed, 0)
    },
    shut: all(proxy => proxy.shut()),
    open: all(proxy => proxy.open()),
    close: all(proxy => proxy.close()),
  }
}
