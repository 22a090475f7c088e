import type { Command } from 'commander'
import type { Shell } from './command-dependencies.ts'
import { type Connection, connect } from './connection.ts'
import { type GlobalOptions, outputFor } from './global-options.ts'
import type { Output } from './terminal/output.ts'

/** The shell, output and global options of one command run. */
export interface Invocation {
  readonly shell: Shell
  readonly output: Output
  readonly globals: GlobalOptions
  connect(): Promise<Connection>
}

export function invocation(command: Command, shell: Shell): Invocation {
  const globals = command.optsWithGlobals<GlobalOptions>()
  return { shell, output: outputFor(globals, shell), globals, connect: () => connect(globals, shell) }
}
