import { Age } from '../../parts/age.tsx'
import { NamedIcon } from '../../parts/icons.tsx'
import type { Definition } from './definition-groups.ts'

/** Source of the topology and result of the last fetch. */
export function SyncState({ definition: { source, sync } }: { definition: Definition }) {
  if (source === 'inline') return <span class="muted">inline</span>
  const { status, at, error } = sync
  return (
    <span class={`sync ${status}`}>
      {status === 'requested' && (
        <span class="sync-line">
          <NamedIcon name="waiting" /> fetching
        </span>
      )}
      {status === 'success' && (
        <span class="sync-line">
          <NamedIcon name="check" /> fetched {at !== null && <Age since={at} />} ago
        </span>
      )}
      {status === 'failed' && (
        <span class="sync-line tone-red">
          <NamedIcon name="close" /> failed: <span class="sync-error">{error}</span>
        </span>
      )}
      <span class="sub mono" title={source}>
        {source}
      </span>
    </span>
  )
}
