import type { Client } from '@lcm/client/client'
import type { BodyInput } from '@lcm/contract/routes'
import { countText, momentText } from '@lcm/domain/text/format-amounts'
import type { Invocation } from '../invocation.ts'
import { type Confirmation, confirmWarning } from '../terminal/confirm-by-name.ts'
import { printable } from '../terminal/table.ts'

const LISTED_MAX = 10

interface Change extends Pick<Confirmation, 'name' | 'expected'> {
  readonly change: BodyInput<'previewCapacity'>
  /** Skips the question. */
  readonly yes: boolean
}

/** Lists the booked sessions that would lose their promised capacity, and asks. Changes without such sessions need no answer. */
export async function confirmCapacityChange(
  client: Client,
  { change, yes, ...named }: Change,
  invoked: Invocation,
): Promise<void> {
  if (yes) return
  const { affected, sessions } = await client.call('previewCapacity', { body: change, signal: invoked.shell.signal })
  if (affected === 0) return
  for (const { id, definition, owner_name, start } of sessions.slice(0, LISTED_MAX))
    invoked.output.warn(printable(`  ${momentText(start)}  ${id}  ${definition} of ${owner_name}`))
  if (affected > LISTED_MAX) invoked.output.warn(`  and ${affected - LISTED_MAX} more`)
  const warning = `${countText(affected, 'booked session')} would lose the promised capacity.`
  await confirmWarning({ ...named, warning }, invoked)
}
