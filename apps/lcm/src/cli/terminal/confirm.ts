import { CliError, EXIT } from '../exit-code.ts'
import type { Invocation } from '../invocation.ts'
import { printable } from './table.ts'

export interface Disaster {
  readonly id: string
  /** What must be typed. */
  readonly name: string
  /** What is about to be done, such as `terminating`. */
  readonly what: string
  readonly lost: string
  /** `its name`, or what else it is called. */
  readonly asked: string
}

/** What can't be taken back needs the name typed, or `--yes` where nobody can type. */
export async function confirmByName(disaster: Disaster, { shell, output }: Invocation): Promise<void> {
  const { id, what, lost, asked } = disaster
  const name = printable(disaster.name)
  if (shell.readLine === null)
    throw new CliError(EXIT.usage, `${what} ${name} destroys ${lost}: repeat with --yes if you mean it`)
  const action = what.charAt(0).toUpperCase() + what.slice(1)
  output.ask(`${action} ${name} (${id}) destroys ${lost} for good. Type ${asked} to go on: `)
  const typed = await shell.readLine()
  if (shell.signal.aborted) throw new CliError(EXIT.interrupted, `interrupted: ${name} was left alone`)
  if (typed?.trim() !== disaster.name)
    throw new CliError(EXIT.failed, `that is not ${asked}: ${name} was left alone, nothing was done`)
}
