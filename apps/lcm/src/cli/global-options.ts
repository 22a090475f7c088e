import type { Command } from 'commander'
import type { ConnectionOptions } from './connection.ts'
import type { Shell } from './shell.ts'
import { makeOutput, type Output } from './terminal/output.ts'

/** Options that every command takes, before or after its name. */
export interface GlobalOptions extends ConnectionOptions {
  readonly color: boolean
  readonly quiet?: boolean
}

export function addGlobalOptions(program: Command): void {
  program
    .option('--url <url>', 'which LCM (else LCM_URL, else that of the data folder)')
    .option('--token <token>', 'your token (else LCM_TOKEN, else that of the data folder)')
    .option('--data <dir>', 'the data folder (else LCM_DATA, else .lcm)')
    .option('-q, --quiet', 'only say what was asked for, and errors')
    .option('--no-color', 'no colours (also: NO_COLOR)')
}

export function outputFor(globals: GlobalOptions, shell: Shell): Output {
  const color = globals.color && !shell.env.NO_COLOR && shell.env.TERM !== 'dumb'
  return makeOutput({ stdout: shell.stdout, stderr: shell.stderr, color, quiet: globals.quiet === true })
}
