import type { Client } from '@lcm/client/client'
import type { Command } from 'commander'
import type { Shell } from './command-dependencies.ts'
import { invocation } from './invocation.ts'
import { printable } from './terminal/table.ts'

export interface OneStep {
  /** Such as `target <name>`. */
  readonly usage: string
  readonly plural: string
  readonly summary: string
  /** Returns what was done, in one line. */
  run(client: Client, idOrName: string, signal: AbortSignal): Promise<string>
}

/** Adds a command that changes one resource at once and prints what was done. */
export function addOneStep(group: Command, { usage, plural, summary, run }: OneStep, shell: Shell): void {
  group
    .command(usage)
    .alias(plural)
    .description(summary)
    .action(async (idOrName: string, _: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const done = await run(client, idOrName, shell.signal)
      if (!output.quiet) output.out(printable(done))
    })
}
