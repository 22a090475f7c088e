import { toneOf } from '@lcm/domain/text/status-tone'
import { WORKER_STATUSES } from '@lcm/domain/worker/worker'
import { StatusCounts } from '../../parts/status/status-counts.tsx'
import type { FleetSummary } from '../../state/fleet-summary.ts'

/** Terminated workers don't belong to the fleet. */
const SHOWN = WORKER_STATUSES.filter(status => status !== 'TERMINATED')
const UNWELL = ['DOWN', 'DEGRADED'] as const

export function FleetCard({ summary }: { summary: FleetSummary }) {
  const counts = SHOWN.flatMap(status => {
    const count = summary.byStatus.get(status) ?? 0
    return count === 0 ? [] : [{ status, count }]
  })
  const troubled = UNWELL.flatMap(status => {
    const count = summary.byHealth.get(status) ?? 0
    return count === 0 ? [] : [{ status, count }]
  })
  return (
    <section class="card" aria-labelledby="fleet-title">
      <h2 id="fleet-title">Fleet</h2>
      <p class="key-figure number">
        {summary.present} <span class="muted">{summary.present === 1 ? 'worker' : 'workers'}</span>
      </p>
      <div class="fleet-bar" aria-hidden="true">
        {counts.map(({ status, count }) => (
          <span key={status} class={`fleet-part tone-${toneOf(status)}`} style={{ flexGrow: count }} />
        ))}
      </div>
      <StatusCounts class="fleet-counts" page="workers" counts={counts} />
      {troubled.length > 0 && (
        <>
          <p class="muted fleet-health">Of these</p>
          <StatusCounts class="fleet-counts" page="workers" by="health" counts={troubled} />
        </>
      )}
      {counts.length === 0 && <p class="muted">No workers.</p>}
    </section>
  )
}
