import type { FaultState } from '@lcm/client/sim-client'
import { agrees, cmlTroubles, nameOf, type Pair, scriptText } from '@lcm/client/sim-worker-pairs'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import { type Column, tableLines } from '../terminal/table.ts'

const machineColumns = (colors: Colors): readonly Column<Pair>[] => [
  { title: 'NAME', text: nameOf },
  { title: 'INSTANCE', text: ({ machine }) => machine.instance_id },
  { title: 'REGION', text: ({ machine }) => machine.region },
  { title: 'MACHINE', text: ({ machine }) => machine.state },
  {
    title: 'LCM STATUS',
    text: pair => (pair.worker === null ? 'no worker' : `${pair.worker.status}${agrees(pair) ? '' : ', not seen yet'}`),
    paint: (text, { worker }) => (worker === null ? text : statusColor(worker.status, colors)(text)),
  },
  { title: 'CML', text: ({ machine }) => [machine.stage, ...cmlTroubles(machine.cml_faults)].join(', ') },
  { title: 'RETIRES', text: ({ machine }) => machine.retires_at ?? '' },
]

/** The table of machines, then the active faults. */
export const chaosLines = (pairs: readonly Pair[], faults: FaultState, colors: Colors): string[] => [
  ...(pairs.length === 0 ? ['The simulated cloud has no machines.'] : tableLines(machineColumns(colors), pairs)),
  '',
  ...faultLines(faults),
]

/** The preset, the faults that differ from it, and the scripted faults. */
export function faultLines(faults: FaultState): string[] {
  const { preset, plan, scarce, scripted } = faults
  const named = Object.entries(plan).filter(([name, value]) => name.endsWith('_rate') && value !== 0)
  const isTrue = named.length === 0 && scarce.length === 0 && scripted.length === 0
  return [
    `Preset: ${preset}${isTrue ? ', no faults' : ''}`,
    ...named.map(([name, value]) => `  ${name} ${value}`),
    ...scarce.map(
      ({ availability_zone: zone, instance_type: type, available }) => `  capacity for ${available} ${type} in ${zone}`,
    ),
    ...scripted.map(fault => `  ${scriptText(fault)}`),
  ]
}
