import type { Worker } from '@lcm/domain/worker/worker'
import type { Command } from 'commander'
import { CliError, EXIT } from '../exit-code.ts'
import { findWorker } from '../find.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { addSettleOptions, type SettleOptions, settle } from '../settle.ts'
import type { Shell } from '../shell.ts'
import { printable } from '../table.ts'

interface ActOptions extends SettleOptions {
  readonly reason?: string
  readonly yes?: boolean
}

interface Verb {
  readonly name: 'start' | 'stop' | 'terminate'
  readonly route: 'startWorker' | 'stopWorker' | 'terminateWorker'
  readonly summary: string
  readonly examples: string
}

const START: Verb = {
  name: 'start',
  route: 'startWorker',
  summary: 'want a worker RUNNING',
  examples: `
Examples:
  lcm start worker metal-3
  lcm start worker metal-3 --wait --timeout 30m`,
}

const STOP: Verb = {
  name: 'stop',
  route: 'stopWorker',
  summary: 'want a worker STOPPED; its disk is kept',
  examples: `
Examples:
  lcm stop worker metal-3 --reason "over the weekend"
  lcm stop worker metal-3 --wait`,
}

const TERMINATE: Verb = {
  name: 'terminate',
  route: 'terminateWorker',
  summary: 'want a worker gone for good, with its disk',
  examples: `
Examples:
  lcm terminate worker metal-3 --wait      asks for the name first
  lcm terminate worker metal-3 --yes       does not ask, for scripts`,
}

export const defineStart = (command: Command, shell: Shell): void => define(command, START, shell)
export const defineStop = (command: Command, shell: Shell): void => define(command, STOP, shell)

export function defineTerminate(command: Command, shell: Shell): void {
  define(command, TERMINATE, shell)
}

function define(group: Command, verb: Verb, shell: Shell): void {
  const noun = group
    .command('worker <id>')
    .alias('workers')
    .description(verb.summary)
    .option('--reason <text>', 'why, for those who ask later')
    .action(async (idOrName: string, options: ActOptions, command: Command) =>
      act(verb, idOrName, options, invocation(command, shell)),
    )
  if (verb.name === 'terminate') noun.option('-y, --yes', 'do not ask for the name of the worker')
  addSettleOptions(noun)
  group.addHelpText('afterAll', verb.examples)
}

async function act(verb: Verb, idOrName: string, options: ActOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const found = await findWorker(client, idOrName, signal)
  if (verb.name === 'terminate' && !options.yes) await confirm(found, invoked)
  const worker = await client.call(verb.route, { params: { id: found.id }, body: { reason: options.reason }, signal })
  return settle({ client, worker, said: saidOf(worker) }, options, invoked)
}

function saidOf({ id, name, status, desired_status }: Worker): string {
  if (status === desired_status) return `${name} (${id}) is ${status} already`
  return `${name} (${id}) will be ${desired_status}; it is ${status} now`
}

/** What can't be taken back needs the name typed, or `--yes` where nobody can type. */
async function confirm(worker: Worker, { shell, output }: Invocation): Promise<void> {
  const name = printable(worker.name)
  if (shell.readLine === null)
    throw new CliError(EXIT.usage, `terminating ${name} destroys its disk: repeat with --yes if you mean it`)
  output.ask(`Terminating ${name} (${worker.id}) destroys its disk for good. Type its name to go on: `)
  const typed = await shell.readLine()
  if (shell.signal.aborted) throw new CliError(EXIT.interrupted, `interrupted: ${name} was left alone`)
  if (typed?.trim() !== worker.name)
    throw new CliError(EXIT.failed, `that is not its name: ${name} was left alone, nothing was done`)
}
