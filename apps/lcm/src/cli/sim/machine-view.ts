import type { FaultState } from '@lcm/client/sim-client'
import { agrees, cmlTroubles, nameOf, type Pair, scriptText } from '@lcm/client/sim-machines'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import { type Column, tableLines } from '../terminal/table.ts'

const machineColumns = (colors: Colors): readonly Column<Pair>[] => [
  { title: 'NAME', text: nameOf },
  { title: 'INSTANCE', text: ({ machine }) => machine.instance_id },
  { title: 'REGION', text: ({ machine }) => machine.region },
  { title: 'IN TRUTH', text: ({ machine }) => machine.state },
  {
    title: 'LCM SAYS',
    text: pair => (pair.worker === null ? 'no worker' : `${pair.worker.status}${agrees(pair) ? '' : ', not yet seen'}`),
    paint: (text, { worker }) => (worker === null ? text : statusColor(worker.status, colors)(text)),
  },
  { title: 'CML', text: ({ machine }) => [machine.stage, ...cmlTroubles(machine.cml_faults)].join(', ') },
  { title: 'RETIRES', text: ({ machine }) => machine.retires_at ?? '' },
]

/** Every machine, and what the cloud does to those who ask it. */
export const chaosLines = (pairs: readonly Pair[], faults: FaultState, colors: Colors): string[] => [
  ...(pairs.length === 0 ? ['The simulated cloud has no machines.'] : tableLines(machineColumns(colors), pairs)),
  '',
  ...faultLines(faults),
]

/** How the cloud lies now: what the preset says, what was changed of it, and what waits for its calls. */
export function faultLines(faults: FaultState): string[] {
  const { preset, plan, scarce, scripted } = faults
  const named = Object.entries(plan).filter(([name, value]) => name.endsWith('_rate') && value !== 0)
  const isTrue = named.length === 0 && scarce.length === 0 && scripted.length === 0
  return [
    `The cloud is ${preset}${isTrue ? ': every call is answered, and truly.' : '.'}`,
    ...named.map(([name, value]) => `  ${name} ${value}`),
    ...scarce.map(({ availability_zone: zone, instance_type: type, room }) => `  room for ${room} ${type} in ${zone}`),
    ...scripted.map(fault => `  ${scriptText(fault)}`),
  ]
}
