import {
  CAPACITY_KINDS,
  type CapacityAmounts,
  type FleetCapacity,
  fleetCapacity,
} from '@lcm/domain/fleet/fleet-capacity'
import type { Worker } from '@lcm/domain/worker/worker'

export function CapacityCard({ workers }: { workers: readonly Worker[] }) {
  const capacity = fleetCapacity(workers)
  return (
    <section class="card" aria-labelledby="capacity-title">
      <h2 id="capacity-title">Capacity</h2>
      <dl class="uses">
        {usesOf(capacity).map(use => (
          <UseRow key={use.name} use={use} />
        ))}
      </dl>
      <p class="muted small-print">
        Reserved by sessions, of what licenses and workers allow now. {limitText(capacity)}
      </p>
    </section>
  )
}

const UseRow = ({ use }: { use: Use }) => (
  <div class="use">
    <dt>{use.name}</dt>
    <dd class="number">
      {useText(use)} <span class="muted use-percent">{percentText(use)}</span>
    </dd>
    <dd class="capacity-bar" aria-hidden="true">
      <span style={{ width: `${use.share * 100}%` }} />
    </dd>
  </div>
)

const NAMES: Readonly<Record<keyof CapacityAmounts, { readonly name: string; readonly unit: string }>> = {
  cpu_cores: { name: 'CPU', unit: 'cores' },
  memory_gb: { name: 'Memory', unit: 'GB' },
  storage_gb: { name: 'Storage', unit: 'GB' },
  nodes: { name: 'Nodes', unit: '' },
}

export interface Use {
  readonly name: string
  readonly unit: string
  readonly reserved: number
  readonly usable: number
  /** Between 0 and 1. */
  readonly share: number
}

export function usesOf({ usable, reserved }: FleetCapacity): Use[] {
  return CAPACITY_KINDS.map(kind => {
    const share = usable[kind] === 0 ? 0 : reserved[kind] / usable[kind]
    return { ...NAMES[kind], reserved: reserved[kind], usable: usable[kind], share }
  })
}

/** Why labs can use less than the machines have. */
export function limitText({ declared, usable, closed_workers }: FleetCapacity): string {
  const closed = closed_workers === 0 ? '' : ` ${workersText(closed_workers)} no sessions now.`
  const isLimited = usable.nodes < declared.nodes
  return isLimited ? `${closed} The machines could run ${amounts.format(declared.nodes)} nodes.`.trim() : closed.trim()
}
const workersText = (count: number): string => (count === 1 ? '1 worker accepts' : `${count} workers accept`)

const amounts = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 })
/** A small share is never shown as 0. */
export const percentText = ({ share }: Use): string =>
  share > 0 && share < 0.01 ? '< 1 %' : `${Math.round(share * 100)} %`

export const useText = ({ reserved, usable, unit }: Use): string =>
  `${amounts.format(reserved)} of ${amounts.format(usable)} ${unit}`.trim()
