import type { Worker } from '@lcm/domain/worker/worker'

export function CapacityCard({ workers }: { workers: readonly Worker[] }) {
  return (
    <section class="card" aria-labelledby="capacity-title">
      <h2 id="capacity-title">Capacity</h2>
      <dl class="uses">
        {capacityOf(workers).map(use => (
          <UseRow key={use.name} use={use} />
        ))}
      </dl>
      <p class="muted small-print">Reserved by sessions, of the capacity of running workers.</p>
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

const KINDS = [
  { kind: 'cpu_cores', name: 'CPU', unit: 'cores' },
  { kind: 'memory_gb', name: 'Memory', unit: 'GB' },
  { kind: 'storage_gb', name: 'Storage', unit: 'GB' },
  { kind: 'nodes', name: 'Nodes', unit: '' },
] as const

export interface Use {
  readonly name: string
  readonly unit: string
  readonly reserved: number
  readonly declared: number
  /** Between 0 and 1, even if more is reserved than declared. */
  readonly share: number
}

/** Declared and reserved capacity of running workers. */
export function capacityOf(workers: Iterable<Worker>): Use[] {
  const sums = KINDS.map(({ name, unit }) => ({ name, unit, reserved: 0, declared: 0 }))
  for (const { status, capacity } of workers) {
    if (status !== 'RUNNING') continue
    sums.forEach((sum, index) => {
      const kind = KINDS[index]?.kind ?? 'nodes'
      sum.reserved += capacity.reserved[kind]
      sum.declared += capacity.declared?.[kind === 'nodes' ? 'max_nodes' : kind] ?? 0
    })
  }
  return sums.map(sum => ({ ...sum, share: sum.declared === 0 ? 0 : Math.min(1, sum.reserved / sum.declared) }))
}

const amounts = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 })
/** A small share is never shown as 0. */
export const percentText = ({ share }: Use): string =>
  share > 0 && share < 0.01 ? '< 1 %' : `${Math.round(share * 100)} %`

export const useText = ({ reserved, declared, unit }: Use): string =>
  `${amounts.format(reserved)} of ${amounts.format(declared)} ${unit}`.trim()
