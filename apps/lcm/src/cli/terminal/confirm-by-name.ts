import { CliError, EXIT } from '../cli-error.ts'
import type { Invocation } from '../invocation.ts'
import { printable } from './table.ts'

export interface Confirmation {
  readonly id: string
  /** The text that must be typed. */
  readonly name: string
  /** Such as `terminating`. */
  readonly action: string
  readonly loss: string
  /** Such as `its name`. */
  readonly expected: string
}

/** Asks for the name before an action that can't be undone. Without a terminal, the command needs `--yes`. */
export async function confirmByName(confirmation: Confirmation, { shell, output }: Invocation): Promise<void> {
  const { id, action, loss, expected } = confirmation
  const name = printable(confirmation.name)
  if (shell.readLine === null)
    throw new CliError(EXIT.usage, `${action} ${name} permanently deletes ${loss}`, 'add --yes to confirm')
  const title = action.charAt(0).toUpperCase() + action.slice(1)
  output.ask(`${title} ${name} (${id}) permanently deletes ${loss}. Type ${expected} to confirm: `)
  const typed = await shell.readLine()
  if (shell.signal.aborted) throw new CliError(EXIT.interrupted, `interrupted: ${name} was not changed`)
  if (typed?.trim() !== confirmation.name)
    throw new CliError(EXIT.failed, `confirmation failed, that is not ${expected}: ${name} was not changed`)
}
