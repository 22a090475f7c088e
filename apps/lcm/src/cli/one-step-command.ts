import type { Client } from '@lcm/client/client'
import type { Command } from 'commander'
import type { Shell } from './command-dependencies.ts'
import { addCapacityYes } from './fleet/confirm-capacity-change.ts'
import { type Invocation, invocation } from './invocation.ts'
import { printable } from './terminal/table.ts'

export interface OneStep {
  /** Such as `target <name>`. */
  readonly usage: string
  readonly plural: string
  readonly summary: string
  /** Asks before it removes capacity. Without it, nothing is asked. */
  readonly confirm?: (client: Client, idOrName: string, invoked: Invocation) => Promise<void>
  /** Returns what was done, in one line. */
  run(client: Client, idOrName: string, signal: AbortSignal): Promise<string>
}

/** Adds a command that changes one resource at once and prints what was done. */
export function addOneStep(group: Command, { usage, plural, summary, confirm, run }: OneStep, shell: Shell): void {
  const added = group.command(usage).alias(plural).description(summary)
  if (confirm !== undefined) addCapacityYes(added)
  added.action(async (idOrName: string, { yes = false }: { yes?: boolean }, command: Command) => {
    const invoked = invocation(command, shell)
    const { output, connect } = invoked
    const { client } = await connect()
    if (!yes) await confirm?.(client, idOrName, invoked)
    const done = await run(client, idOrName, shell.signal)
    if (!output.quiet) output.out(printable(done))
  })
}
