import { InvalidArgumentError } from 'commander'
import { CliError } from '../exit-code.ts'
import type { Invocation } from '../invocation.ts'
import type { Host } from '../shell.ts'

const PORT_MAX = 65_535

export function portArgument(text: string): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number <= PORT_MAX) return number
  throw new InvalidArgumentError(`Give a port from 0 to ${PORT_MAX}.`)
}

type Io = Parameters<Host['up']>[1]

/** Runs a part of the product in this process; a start that is refused for a known reason ends with its own exit code. */
export async function runHosted(
  { shell, output }: Invocation,
  run: (host: Host, io: Io) => Promise<void>,
): Promise<void> {
  const host = await shell.loadHost()
  const out = (line: string) => {
    if (!output.quiet) output.out(line)
  }
  try {
    await run(host, { out, err: output.warn, signal: shell.signal })
  } catch (error) {
    const exitCode = host.startupExitCode(error)
    throw exitCode === null || !(error instanceof Error) ? error : new CliError(exitCode, error.message)
  }
}
