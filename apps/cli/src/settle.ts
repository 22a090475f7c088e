import type { Client } from '@lcm/client/client'
import type { Worker } from '@lcm/domain/worker/worker'
import { type Command, Option } from 'commander'
import { durationMs, type Format, formatOption, type Invocation } from './invocation.ts'
import { progress } from './progress.ts'
import { printOne, WORKER_VIEW } from './resource-view.ts'
import { printable } from './table.ts'
import { WAIT_MS_DEFAULT, waitForWorker } from './wait.ts'
import { waitsFor } from './worker-view.ts'

/** Options of every command that asks something of a worker. */
export interface SettleOptions {
  readonly wait?: boolean
  readonly timeout: number
  readonly output?: Format
}

export const addSettleOptions = (command: Command): Command =>
  command
    .option('--wait', 'show its progress and end when it is there, or has failed')
    .addOption(
      new Option('--timeout <duration>', 'how long --wait has patience')
        .argParser(durationMs)
        .default(WAIT_MS_DEFAULT, '45m'),
    )
    .addOption(formatOption())

export interface Asked {
  readonly client: Client
  readonly worker: Worker
  /** What was asked for, in words. */
  readonly said: string
}

/** Says what was asked of a worker, waits for it if told to, and prints what became of it. */
export async function settle(asked: Asked, options: SettleOptions, { shell, output }: Invocation): Promise<void> {
  const { client, worker, said } = asked
  const { clock, signal } = shell
  const format = options.output
  if (options.wait) output.note(said)
  else if (format === undefined && !output.quiet) output.out(said)
  let settled: Worker | null = worker
  if (options.wait) {
    const line = progress(output, clock)
    settled = await waitForWorker(worker, { client, clock, signal, progress: line, timeoutMs: options.timeout })
    if (format === undefined && !output.quiet) output.out(resultOf(settled ?? worker, settled === null, line.elapsed()))
  }
  if (format !== undefined) await printOne(WORKER_VIEW, settled ?? worker, { output, format, nowMs: clock.now() })
}

function resultOf(worker: Worker, isGone: boolean, elapsed: string): string {
  if (isGone) return `${worker.name} is gone after ${elapsed}`
  const more = printable(waitsFor(worker)) || (worker.status === 'RUNNING' ? worker.https_endpoint : null)
  return `${worker.name} is ${worker.status} after ${elapsed}${more ? `: ${more}` : ''}`
}
