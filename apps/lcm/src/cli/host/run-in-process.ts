import { CliError } from '../cli-error.ts'
import type { Host } from '../command-dependencies.ts'
import type { Invocation } from '../invocation.ts'

type Io = Parameters<Host['up']>[1]

/** Runs a function of serve/ in this process. A StartupError ends with its own exit code. */
export async function runInProcess(
  { shell, output }: Invocation,
  run: (host: Host, io: Io) => Promise<void>,
): Promise<void> {
  const host = await shell.loadHost()
  const out = (line: string) => {
    if (!output.quiet) output.out(line)
  }
  try {
    const { signal, hurry } = shell
    await run(host, {
      out,
      err: output.warn,
      signal,
      isTerminal: shell.stderr.isTty,
      ...(hurry === undefined ? {} : { hurry }),
    })
  } catch (error) {
    const failure = host.startupError(error)
    throw failure === null ? error : new CliError(failure.exitCode, failure.message, failure.advice)
  }
}
