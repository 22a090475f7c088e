import { type Gate, startGate } from '../gate.ts'

/** All ways of one process to one server. While they are shut nothing comes through, and nobody is told. */
export interface Wire {
  readonly endpoints: readonly string[]
  shut(): void
  open(): void
  close(): void
}

export async function startWire(targets: readonly string[]): Promise<Wire> {
  const gates: readonly Gate[] = await Promise.all(targets.map(startGate))
  const all = (act: (gate: Gate) => void) => () => {
    for (const gate of gates) act(gate)
  }
  return {
    endpoints: gates.map(({ endpoint }) => endpoint),
    shut: all(gate => gate.shut()),
    open: all(gate => gate.open()),
    close: all(gate => gate.close()),
  }
}
