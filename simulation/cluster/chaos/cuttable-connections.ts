import { type Gate, startGate, startGateToPort } from '../processes/cuttable-proxy.ts'

/** All ways of one process to one server. While they are shut nothing comes through, and nobody is told. */
export interface Wire {
  readonly endpoints: readonly string[]
  /** How many connections were ever made by it. */
  readonly passed: number
  shut(): void
  open(): void
  close(): void
}

export const startWire = async (targets: readonly string[]): Promise<Wire> =>
  wireOf(await Promise.all(targets.map(startGate)))

/** To one port of every machine. */
export const startWireToPort = async (port: number): Promise<Wire> => wireOf([await startGateToPort(port)])

function wireOf(gates: readonly Gate[]): Wire {
  const all = (act: (gate: Gate) => void) => () => {
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
