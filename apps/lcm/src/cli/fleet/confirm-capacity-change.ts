import type { Client } from '@lcm/client/client'
import type { BodyInput } from '@lcm/contract/routes'
import { groupedLosses } from '@lcm/domain/calendar/grouped-losses'
import { countText, momentText } from '@lcm/domain/text/format-amounts'
import type { Command } from 'commander'
import type { Invocation } from '../invocation.ts'
import { confirmWarning } from '../terminal/confirm-by-name.ts'
import { printable } from '../terminal/table.ts'

const LISTED_MAX = 10

type Change = BodyInput<'previewCapacity'>

interface Asked {
  /** The text that must be typed. */
  readonly name: string
  readonly change: Change
  /** Skips the question. */
  readonly yes: boolean | undefined
  /** What would prevent the loss, such as `, unless …`. */
  readonly unless?: string
}

export const addCapacityYes = (command: Command): Command =>
  command.option('-y, --yes', 'Skip the confirmation when booked sessions would lose their capacity')

/** Lists the booked sessions that would lose their promised capacity, and asks. Changes without such sessions need no answer. */
export async function confirmCapacityChange(
  client: Client,
  { name, change, yes = false, unless = '' }: Asked,
  invoked: Invocation,
): Promise<void> {
  if (yes) return
  const loss = await listCapacityLoss(client, change, invoked)
  if (loss === null) return
  await confirmWarning({ name, expected: name, warning: `${loss}${unless}.` }, invoked)
}

/** Lists the booked sessions that would lose their promised capacity. Returns how many; null if there are none. */
export async function listCapacityLoss(client: Client, change: Change, invoked: Invocation): Promise<string | null> {
  const { affected, sessions } = await client.call('previewCapacity', { body: change, signal: invoked.shell.signal })
  if (affected === 0) return null
  const lines = groupedLosses(sessions).slice(0, LISTED_MAX)
  for (const { definition, owner_name, start, ids } of lines) {
    const which = ids.length === 1 ? (ids[0] ?? '') : countText(ids.length, 'session')
    invoked.output.warn(printable(`  ${momentText(start)}  ${definition} of ${owner_name}  ${which}`))
  }
  const others = affected - lines.reduce((sum, { ids }) => sum + ids.length, 0)
  if (others > 0) invoked.output.warn(`  and ${others} more`)
  return `${countText(affected, 'booked session')} would lose ${affected === 1 ? 'its' : 'their'} promised capacity`
}
