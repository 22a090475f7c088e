import { type CuttableProxy, startCuttableProxy, startCuttableProxyToPort } from '../processes/cuttable-proxy.ts'

/** All ways of one process to one server. While they are shut nothing comes through, and nobody is told. */
export interface Connection {
  readonly endpoints: readonly string[]
  /** How many connections were ever made by it. */
  readonly passed: number
  shut(): void
  open(): void
  close(): void
}

export const startConnection = async (targets: readonly string[]): Promise<Connection> =>
  wireOf(await Promise.all(targets.map(startCuttableProxy)))

/** To one port of every machine. */
export const startConnectionToPort = async (port: number): Promise<Connection> =>
  wireOf([await startCuttableProxyToPort(port)])

function wireOf(gates: readonly CuttableProxy[]): Connection {
  const all = (act: (gate: CuttableProxy) => void) => () => {
    for (const gate of gates) act(gate)
  }
  return {
    endpoints: gates.map(({ endpoint }) => endpoint),
    get passed() {
      return gates.reduce((sum, gate) => sum + gate.passed, 0)
    },
    shut: all(gate => gate.shut()),
    open: all(gate => gate.open()),
    close: all(gate => gate.close()),
  }
}
