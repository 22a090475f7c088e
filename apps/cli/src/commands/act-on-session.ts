import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { isFinal } from '@lcm/domain/session/lablet-session'
import type { Command } from 'commander'
import { type Format, formatOption, type Invocation, invocation, wholeNumber } from '../invocation.ts'
import { findSession } from '../lablets/find.ts'
import { distanceOf } from '../lablets/session-view.ts'
import { SESSION_SETTLING } from '../lablets/session-wait.ts'
import { printOne, SESSION_VIEW } from '../resource-view.ts'
import { addSettleOptions, type SettleOptions, settle } from '../settle.ts'
import type { Shell } from '../shell.ts'

const EXTEND_MINUTES_MAX = 24 * 60

export function defineCancel(group: Command, shell: Shell): void {
  const noun = group
    .command('session <id>')
    .alias('sessions')
    .description('end a session before its time; its lab is taken down')
    .action(async (id: string, options: SettleOptions, command: Command) =>
      cancel(id, options, invocation(command, shell)),
    )
  addSettleOptions(noun)
  const examples = [
    'lcm cancel session ls-0n4k2m7a8q1cd',
    'lcm cancel session ls-0n4k2m7a8q1cd --wait    stay until its lab is gone',
  ]
  group.addHelpText('afterAll', `\nExamples:\n${examples.map(line => `  ${line}`).join('\n')}`)
}

async function cancel(id: string, options: SettleOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const found = await findSession(client, id, signal)
  const session = await client.call('cancelSession', { params: { id: found.id }, signal })
  const said = isFinal(found.status)
    ? `session ${id} is ${found.status} already`
    : `session ${id} is cancelled; it is ${session.status} now`
  return settle({ client, item: session, settling: SESSION_SETTLING, said }, options, invoked)
}

interface ExtendOptions {
  readonly minutes: number
  readonly output?: Format
}

export function defineExtend(group: Command, shell: Shell): void {
  group
    .command('session <id>')
    .alias('sessions')
    .description('let a session last longer, as far as its definition allows')
    .requiredOption('--minutes <count>', 'how much longer', wholeNumber(1, EXTEND_MINUTES_MAX))
    .addOption(formatOption())
    .action(async (id: string, options: ExtendOptions, command: Command) =>
      extend(id, options, invocation(command, shell)),
    )
  group.addHelpText('afterAll', '\nExamples:\n  lcm extend session ls-0n4k2m7a8q1cd --minutes 30')
}

async function extend(id: string, { minutes, output: format }: ExtendOptions, invoked: Invocation): Promise<void> {
  const { shell, output, connect } = invoked
  const { client } = await connect()
  await findSession(client, id, shell.signal)
  const session = await client.call('extendSession', { params: { id }, body: { minutes }, signal: shell.signal })
  const nowMs = shell.clock.now()
  if (format !== undefined) return printOne(SESSION_VIEW, session, { output, format, nowMs })
  const { end } = session.timeslot
  if (!output.quiet) output.out(`session ${id} now ends at ${end}, ${distanceOf(end, nowMs)}`)
}

interface RetryOptions extends SettleOptions {
  readonly reason?: string
}

/** Teaches `retry` to take a session. */
export function addSessionRetry(group: Command, shell: Shell): void {
  const noun = group
    .command('session <id>')
    .alias('sessions')
    .description('start the lab of a session anew, where something went wrong with it')
    .option('--reason <text>', 'why, for those who ask later')
    .action(async (id: string, options: RetryOptions, command: Command) =>
      retry(id, options, invocation(command, shell)),
    )
  addSettleOptions(noun)
}

async function retry(id: string, options: RetryOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  await findSession(client, id, signal)
  const session = await client.call('retrySession', { params: { id }, body: { reason: options.reason }, signal })
  return settle({ client, item: session, settling: SESSION_SETTLING, said: saidOf(session) }, options, invoked)
}

const saidOf = ({ id, pipeline }: LabletSession): string =>
  `the lab of session ${id} is started anew, attempt ${pipeline?.attempt ?? 1}`
