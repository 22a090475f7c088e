import type { Command } from 'commander'
import type { Shell } from './command-dependencies.ts'
import type { ConnectionOptions } from './connection.ts'
import { makeOutput, type Output } from './terminal/output.ts'

/** Options that every command accepts, before or after its name. */
export interface GlobalOptions extends ConnectionOptions {
  readonly color: boolean
  readonly quiet?: boolean
}

export function addGlobalOptions(program: Command): void {
  program
    .option('--url <url>', 'Address of the LCM API (default: LCM_URL, then the data folder)')
    .option('--token <token>', 'API token (default: LCM_TOKEN or LCM_TOKEN_FILE, then the data folder)')
    .option('--data <dir>', 'Data folder (default: LCM_DATA, then .lcm)')
    .option('-q, --quiet', 'Print only results and errors')
    .option('--no-color', 'Disable colors (also: NO_COLOR)')
}

export function outputFor(globals: GlobalOptions, shell: Shell): Output {
  const color = globals.color && !shell.env.NO_COLOR && shell.env.TERM !== 'dumb'
  return makeOutput({ stdout: shell.stdout, stderr: shell.stderr, color, quiet: globals.quiet === true })
}
