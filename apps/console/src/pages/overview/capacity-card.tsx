import type { Worker } from '@lcm/domain/worker/worker'
import { capacityOf, percentText, type Use, useText } from './capacity-use.ts'

export function CapacityCard({ workers }: { workers: readonly Worker[] }) {
  return (
    <section class="card" aria-labelledby="capacity-title">
      <h2 id="capacity-title">Capacity</h2>
      <dl class="uses">
        {capacityOf(workers).map(use => (
          <UseRow key={use.name} use={use} />
        ))}
      </dl>
      <p class="muted small-print">Reserved by sessions, of what running workers have.</p>
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
