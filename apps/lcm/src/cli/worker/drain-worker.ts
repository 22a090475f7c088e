import type { Worker } from '@lcm/domain/worker/worker'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { CliError, EXIT } from '../exit-code.ts'
import { findWorker } from '../find.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { printOne } from '../resource-view.ts'
import type { Shell } from '../shell.ts'
import { confirmByName } from '../terminal/confirm.ts'
import { parseDuration } from '../terminal/duration.ts'
import { shellWord } from '../terminal/shell-word.ts'
import { addSettleOptions, type SettleOptions, settle } from '../wait-until-settled.ts'
import { drainSettling, drainText } from './drain-wait.ts'
import { WORKER_SETTLING } from './worker-wait.ts'

interface DrainOptions extends SettleOptions {
  readonly then: 'stop' | 'terminate'
  readonly within?: number
  readonly cancel?: boolean
  readonly reason?: string
  readonly yes?: boolean
}

const ENDS = { stop: 'STOPPED', terminate: 'TERMINATED' } as const

export function defineDrain(group: Command, shell: Shell): void {
  const noun = group
    .command('worker <id>')
    .alias('workers')
    .description('give a worker no new sessions, and stop or terminate it when the last one is over')
    .addOption(new Option('--then <end>', 'what becomes of it then').choices(['stop', 'terminate']).default('stop'))
    .option('--within <duration>', 'how long sessions may last at most (default: as its template says)', withinMs)
    .option('--cancel', 'let it take sessions again')
    .option('--reason <text>', 'why, for those who ask later')
    .option('-y, --yes', 'do not ask for the name of a worker that is to be terminated')
    .action(async (idOrName: string, options: DrainOptions, command: Command) => {
      const invoked = invocation(command, shell)
      return options.cancel ? cancel(idOrName, options, invoked) : drain(idOrName, options, invoked)
    })
  addSettleOptions(noun)
  group.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm drain worker metal-3 --wait                    says which sessions it still waits for
  lcm drain worker metal-3 --then terminate --within 2h
  lcm drain worker metal-3 --cancel                  opens the door again`

const WITHIN_MS_MIN = 60_000
const WITHIN_MS_MAX = 7 * 86_400_000

function withinMs(text: string): number {
  const ms = parseDuration(text, WITHIN_MS_MAX)
  if (ms !== null && ms >= WITHIN_MS_MIN) return ms
  throw new InvalidArgumentError('Give a duration from 1m to 7d.')
}

async function drain(idOrName: string, options: DrainOptions, invoked: Invocation): Promise<void> {
  const { signal, clock } = invoked.shell
  const { client } = await invoked.connect()
  const { id, name } = await findWorker(client, idOrName, signal)
  const end = ENDS[options.then]
  if (end === 'TERMINATED' && !options.yes)
    await confirmByName({ id, name, what: 'terminating', lost: 'its disk', asked: 'its name' }, invoked)
  const seconds = options.within === undefined ? {} : { timeout_seconds: Math.round(options.within / 1000) }
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  const body = { then: end, reason: options.reason, ...seconds }
  const worker = await client.call('drainWorker', { params: { id }, body, signal })
  const said = saidOf(worker, end, clock.now())
  return settle({ client, item: worker, settling: drainSettling(end, clock), said }, options, invoked)
}

function saidOf(worker: Worker, end: string, nowMs: number): string {
  const waits = worker.drain === null ? '' : `: ${drainText(worker, worker.drain, nowMs)}`
  return `${worker.name} (${worker.id}) takes no new sessions and will be ${end}${waits}`
}

async function cancel(idOrName: string, options: DrainOptions, { shell, output, connect }: Invocation): Promise<void> {
  if (options.wait) throw new CliError(EXIT.usage, 'there is nothing to wait for with --cancel: leave --wait out')
  const { client } = await connect()
  const found = await findWorker(client, idOrName, shell.signal)
  const call = { params: { id: found.id }, body: { reason: options.reason }, signal: shell.signal }
  const worker = await client.call('cancelDrainWorker', call)
  if (options.output !== undefined) {
    const printing = { output, format: options.output, nowMs: shell.clock.now() }
    return printOne(WORKER_SETTLING.view, worker, printing)
  }
  if (!output.quiet) output.out(openText(worker, found.drain !== null))
}

function openText({ id, name, status, desired_status }: Worker, wasDrained: boolean): string {
  const back = `\`lcm start worker ${shellWord(name)}\` brings it back`
  if (desired_status !== 'RUNNING')
    return `${name} (${id}) is ${status} and will be ${desired_status}: its drain is over, ${back}`
  return wasDrained ? `${name} (${id}) takes sessions again` : `${name} (${id}) was not being drained`
}
