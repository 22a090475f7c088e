import type { Worker } from '@lcm/domain/worker/worker'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { findWorker } from '../find-resource.ts'
import { confirmCapacityChange, listCapacityLoss } from '../fleet/confirm-capacity-change.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { printOne } from '../resource-view.ts'
import { confirmByName } from '../terminal/confirm-by-name.ts'
import { parseDuration } from '../terminal/duration.ts'
import { shellWord } from '../terminal/shell-word.ts'
import { addSettleOptions, type SettleOptions, settle } from '../waitable-command.ts'
import { drainSettling, drainText } from './drain-wait-goal.ts'
import { WORKER_SETTLING } from './worker-wait-goal.ts'

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
    .description('Place no new sessions on a worker, and stop or terminate it when its last session has ended')
    .addOption(
      new Option('--then <end>', 'Action after the last session').choices(['stop', 'terminate']).default('stop'),
    )
    .option(
      '--within <duration>',
      'Time limit, after which remaining sessions are ended (default: from its template)',
      withinMs,
    )
    .option('--cancel', 'Cancel the drain')
    .option('--reason <text>', 'Reason, recorded in the audit log')
    .option(
      '-y, --yes',
      'Skip the confirmation of --then terminate, and when booked sessions would lose their capacity',
    )
    .action(async (idOrName: string, options: DrainOptions, command: Command) => {
      const invoked = invocation(command, shell)
      return options.cancel ? cancel(idOrName, options, invoked) : drain(idOrName, options, invoked)
    })
  addSettleOptions(noun)
  group.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm drain worker metal-3 --wait                    show the remaining sessions and wait for them
  lcm drain worker metal-3 --then terminate --within 2h
  lcm drain worker metal-3 --cancel                  place sessions on it again`

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
  if (end === 'STOPPED')
    await confirmCapacityChange(client, { name, change: { closed_workers: [id] }, yes: options.yes }, invoked)
  else if (!options.yes) {
    const loss = await listCapacityLoss(client, { terminated_workers: [id] }, invoked)
    if (loss !== null) invoked.output.warn(`${loss}.`)
    await confirmByName({ id, name, action: 'terminating', loss: 'its disk', expected: 'its name' }, invoked)
  }
  const seconds = options.within === undefined ? {} : { timeout_seconds: Math.round(options.within / 1000) }
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  const body = { then: end, reason: options.reason, ...seconds }
  const worker = await client.call('drainWorker', { params: { id }, body, signal })
  const message = messageOf(worker, end, clock.now())
  return settle({ client, item: worker, settling: drainSettling(end, clock), message }, options, invoked)
}

function messageOf(worker: Worker, end: string, nowMs: number): string {
  const waits = worker.drain === null ? '' : `: ${drainText(worker, worker.drain, nowMs)}`
  return `${worker.name} (${worker.id}) gets no new sessions and will be ${end}${waits}`
}

async function cancel(idOrName: string, options: DrainOptions, { shell, output, connect }: Invocation): Promise<void> {
  if (options.wait) throw new CliError(EXIT.usage, "--wait can't be used with --cancel")
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
  const back = `start it again with \`lcm start worker ${shellWord(name)}\``
  if (desired_status !== 'RUNNING')
    return `${name} (${id}) is ${status} and will be ${desired_status}: its drain has ended, ${back}`
  return wasDrained ? `${name} (${id}) gets new sessions again` : `${name} (${id}) was not being drained`
}
