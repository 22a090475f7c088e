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
export async function confirmByName(confirmation: Confirmation, invoked: Invocation): Promise<void> {
  const { id, action, loss } = confirmation
  const name = printable(confirmation.name)
  const title = action.charAt(0).toUpperCase() + action.slice(1)
  const warning = `${title} ${name} (${id}) permanently deletes ${loss}.`
  await confirmWarning({ ...confirmation, warning, refusal: `${action} ${name} permanently deletes ${loss}` }, invoked)
}

interface Warned extends Pick<Confirmation, 'name' | 'expected'> {
  /** What happens, in whole sentences. */
  readonly warning: string
  /** The same for a script, which can't be asked. */
  readonly refusal: string
}

/** Says what happens and asks for the name. Without a terminal, the command needs `--yes`. */
export async function confirmWarning(
  { name, expected, warning, refusal }: Warned,
  { shell, output }: Invocation,
): Promise<void> {
  if (shell.readLine === null) throw new CliError(EXIT.usage, refusal, 'add --yes to confirm')
  output.ask(`${warning} Type ${expected} to confirm: `)
  const typed = await shell.readLine()
  const unchanged = `${printable(name)} was not changed`
  if (shell.signal.aborted) throw new CliError(EXIT.interrupted, `interrupted: ${unchanged}`)
  if (typed?.trim() !== name)
    throw new CliError(EXIT.failed, `confirmation failed, that is not ${expected}: ${unchanged}`)
}
