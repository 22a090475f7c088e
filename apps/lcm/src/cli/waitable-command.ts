import type { Client } from '@lcm/client/client'
import { type Command, Option } from 'commander'
import type { Shell } from './command-dependencies.ts'
import { type Invocation, invocation } from './invocation.ts'
import { durationMs, type Format, formatOption } from './option-parsers.ts'
import { printOne, type Resource, type ResourceView } from './resource-view.ts'
import { progress } from './terminal/progress.ts'
import { WAIT_MS_DEFAULT, type Waited, waitFor } from './wait-for-goal.ts'

/** Options of every command that can wait for its result. */
export interface SettleOptions {
  readonly wait?: boolean
  readonly timeout: number
  readonly output?: Format
}

export const addSettleOptions = (command: Command): Command =>
  command
    .option('--wait', 'Show progress and wait until it is done or has failed')
    .addOption(
      new Option('--timeout <duration>', 'Timeout for --wait').argParser(durationMs).default(WAIT_MS_DEFAULT, '45m'),
    )
    .addOption(formatOption())

/** Options of every command that changes one resource and can wait for the result. */
export interface ActionOptions extends SettleOptions {
  readonly reason?: string
}

interface Action<Options> {
  readonly noun: 'definition' | 'lab' | 'session' | 'worker'
  readonly summary: string
  run(idOrName: string, options: Options, invoked: Invocation): Promise<void>
}

/** Adds `<noun> <id>` to a verb, with options for a reason and for waiting. */
export function addAction<Options extends ActionOptions>(
  group: Command,
  shell: Shell,
  { noun, summary, run }: Action<Options>,
): Command {
  const added = group
    .command(`${noun} <id>`)
    .alias(`${noun}s`)
    .description(summary)
    .option('--reason <text>', 'Reason, recorded in the audit log')
    .action(async (idOrName: string, options: Options, command: Command) =>
      run(idOrName, options, invocation(command, shell)),
    )
  return addSettleOptions(added)
}

/** Describes how to wait for resources of one kind, and how to report the result. */
export interface Settling<T extends Resource> {
  readonly view: ResourceView<T>
  waited(start: T): Waited<T>
  outcome(item: T, elapsed: string, nowMs: number): Outcome
}

interface Outcome {
  /** Omitted with --quiet. */
  readonly sentence: string
  /** Printed even with --quiet, such as access details. */
  readonly lines: readonly string[]
}

export interface SettledRequest<T extends Resource> {
  readonly client: Client
  readonly item: T
  readonly settling: Settling<T>
  /** Message that confirms the request. */
  readonly message: string
}

/** Confirms a request, waits for its result if `--wait` is set, and prints it. */
export async function settle<T extends Resource>(
  request: SettledRequest<T>,
  options: SettleOptions,
  { shell, output }: Invocation,
): Promise<void> {
  const { client, item, settling, message } = request
  const { clock, signal } = shell
  const format = options.output
  if (options.wait) output.note(message)
  else if (format === undefined && !output.quiet) output.out(message)
  let settled: T | null = item
  if (options.wait) {
    const line = progress(output, clock)
    const waited = settling.waited(item)
    settled = await waitFor(waited, { client, clock, signal, progress: line, timeoutMs: options.timeout })
    if (format === undefined) {
      const { sentence, lines } =
        settled === null
          ? { sentence: `${waited.name} deleted after ${line.elapsed()}`, lines: [] }
          : settling.outcome(settled, line.elapsed(), clock.now())
      if (!output.quiet) output.out(sentence)
      lines.forEach(output.out)
    }
  }
  if (format !== undefined) await printOne(settling.view, settled ?? item, { output, format, nowMs: clock.now() })
}
