import type { Client } from '@lcm/client/client'
import type { CapacityPreview } from '@lcm/contract/calendar/capacity-preview'
import type { BodyInput } from '@lcm/contract/routes'
import { countText, momentText } from '@lcm/domain/text/format-amounts'
import { sessionHash } from '../state/router.ts'
import { ConfirmDialog } from './dialog/confirm-dialog.tsx'

const LISTED_MAX = 20

/** The dialog for a change that would leave booked sessions without capacity; null if it would not. */
export async function capacityChangeDialog(
  client: Client,
  change: BodyInput<'previewCapacity'>,
  onConfirm: () => void,
) {
  const preview = await client.call('previewCapacity', { body: change })
  return preview.affected === 0 ? null : <CapacityChangeDialog preview={preview} onConfirm={onConfirm} />
}

const CapacityChangeDialog = ({ preview, onConfirm }: { preview: CapacityPreview; onConfirm: () => void }) => (
  <ConfirmDialog title="Take promised capacity away?" verb="Change anyway" typed={null} onConfirm={onConfirm}>
    <p>
      {countText(preview.affected, 'booked session')} would lose the promised capacity. LCM marks them as at risk and
      notifies their owners.
    </p>
    <ul>
      {preview.sessions.slice(0, LISTED_MAX).map(({ id, definition, owner_name, start }) => (
        <li key={id}>
          {momentText(start)} <a href={sessionHash(id)}>{definition}</a> of {owner_name}
        </li>
      ))}
    </ul>
    {preview.affected > LISTED_MAX && <p class="muted">and {preview.affected - LISTED_MAX} more</p>}
  </ConfirmDialog>
)
