import type { Client } from '@lcm/client/client'
import type { CapacityPreview } from '@lcm/contract/calendar/capacity-preview'
import type { BodyInput } from '@lcm/contract/routes'
import { groupedLosses } from '@lcm/domain/calendar/grouped-losses'
import { countText } from '@lcm/domain/text/format-amounts'
import type { VNode } from 'preact'
import { sessionHash } from '../../state/router.ts'
import { dayAndMinuteText } from '../../state/time-format.ts'
import { Timestamp } from '../timestamp.tsx'
import { useRead } from '../use-read.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'

type Change = BodyInput<'previewCapacity'>

const LISTED_MAX = 8

interface Asked {
  /** Such as `Cordon metal-1?`. */
  readonly title: string
  /** Label of the confirm button. */
  readonly verb: string
  readonly change: Change
  readonly onConfirm: () => void
}

/** The dialog for a change that would leave booked sessions without capacity; null if it would not. */
export async function capacityLossDialog(
  client: Client,
  { title, verb, change, onConfirm }: Asked,
): Promise<VNode | null> {
  const preview = await client.call('previewCapacity', { body: change })
  if (preview.affected === 0) return null
  return (
    <ConfirmDialog title={title} verb={verb} typed={null} onConfirm={onConfirm}>
      <LostSessions preview={preview} />
    </ConfirmDialog>
  )
}

interface LossProps {
  readonly change: Change
  /** What would prevent the loss, such as `, unless …`. */
  readonly unless?: string
}

/** In a dialog about a change: the booked sessions that it would leave without capacity. Nothing if there are none. */
export function CapacityLoss({ change, unless = '' }: LossProps) {
  const preview = useRead(`capacity after ${JSON.stringify(change)}`, (client, signal) =>
    client.call('previewCapacity', { body: change, signal }),
  )
  if (preview.error !== null)
    return <p class="refusal tone-red">Could not check which booked sessions need this capacity: {preview.error}</p>
  if (preview.value === null)
    return (
      <p class="muted" aria-busy="true">
        Checking which booked sessions need this capacity…
      </p>
    )
  return preview.value.affected === 0 ? null : <LostSessions preview={preview.value} unless={unless} />
}

interface LostProps {
  readonly preview: CapacityPreview
  readonly unless?: string
}

function LostSessions({ preview: { affected, sessions }, unless = '' }: LostProps) {
  const isOne = affected === 1
  const groups = groupedLosses(sessions).slice(0, LISTED_MAX)
  const others = affected - groups.reduce((sum, { ids }) => sum + ids.length, 0)
  return (
    <div class="capacity-loss" role="status">
      <p>
        <strong>
          {countText(affected, 'booked session')} would lose {isOne ? 'its' : 'their'} promised capacity
        </strong>
        {unless}. LCM marks {isOne ? 'it' : 'them'} as at risk, notifies the {isOne ? 'owner' : 'owners'}, and keeps
        looking for capacity.
      </p>
      <ul class="losses">
        {groups.map(({ ids, definition, owner_name, start }) => (
          <li key={ids[0]}>
            <a href={sessionHash(ids[0] ?? '')}>{definition}</a>
            {ids.length > 1 && <span class="number">{countText(ids.length, 'session')}</span>}
            <span class="muted">
              {owner_name}, <Timestamp at={start} text={dayAndMinuteText} />
            </span>
          </li>
        ))}
      </ul>
      {others > 0 && <p class="muted">and {others} more</p>}
    </div>
  )
}
