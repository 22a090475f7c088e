import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { isFinal } from '@lcm/domain/session/lablet-session'
import type { Command } from 'commander'
import { findSession } from '../definition/find.ts'
import { type Format, formatOption, type Invocation, invocation, wholeNumber } from '../invocation.ts'
import { printOne, SESSION_VIEW } from '../resource-view.ts'
import type { Shell } from '../shell.ts'
import { addSettleOptions, type SettleOptions, settle } from '../wait-until-settled.ts'
import { namesFor } from '../worker/worker-names.ts'
import { distanceOf } from './session-view.ts'
import { sessionSettling } from './session-wait.ts'

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
    : `session ${id} is cancelled${found.lab_record_id === null ? '' : '; its lab is being taken down'}`
  const settling = sessionSettling(await namesFor(options, client, signal))
  return settle({ client, item: session, settling, said }, options, invoked)
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

interface VerbOptions extends SettleOptions {
  readonly reason?: string
}

interface SessionVerb {
  readonly route: 'retrySession' | 'requeueSession'
  readonly summary: string
  said(session: LabletSession): string
}

const RETRY: SessionVerb = {
  route: 'retrySession',
  summary: 'try again what went wrong: its place, its lab, or a lab that somebody stopped',
  said: retried,
}

const REQUEUE: SessionVerb = {
  route: 'requeueSession',
  summary: 'have a session placed anew that has a place, and no lab yet',
  said: ({ id, status }) => `session ${id} is placed anew; it is ${status} now`,
}

export function defineRequeue(group: Command, shell: Shell): void {
  addSessionVerb(group, REQUEUE, shell)
  const example = 'lcm requeue session ls-0n4k2m7a8q1cd --reason "its worker is needed elsewhere"'
  group.addHelpText('afterAll', `\nExamples:\n  ${example}`)
}

/** Teaches `retry` to take a session. */
export const addSessionRetry = (group: Command, shell: Shell): void => addSessionVerb(group, RETRY, shell)

function addSessionVerb(group: Command, verb: SessionVerb, shell: Shell): void {
  const noun = group
    .command('session <id>')
    .alias('sessions')
    .description(verb.summary)
    .option('--reason <text>', 'why, for those who ask later')
    .action(async (id: string, options: VerbOptions, command: Command) =>
      act(verb, id, options, invocation(command, shell)),
    )
  addSettleOptions(noun)
}

async function act(verb: SessionVerb, id: string, options: VerbOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  await findSession(client, id, signal)
  const session = await client.call(verb.route, { params: { id }, body: { reason: options.reason }, signal })
  const settling = sessionSettling(await namesFor(options, client, signal))
  return settle({ client, item: session, settling, said: verb.said(session) }, options, invoked)
}

function retried({ id, status, pipeline }: LabletSession): string {
  switch (status) {
    case 'PENDING':
      return `session ${id} is looked at anew; it waits for a place`
    case 'SCHEDULED':
      return `session ${id} is looked at anew; it waits for its time`
    case 'READY':
    case 'RUNNING':
      return `the lab of session ${id} is started again; what its nodes have stored is kept`
    default:
      return `the lab of session ${id} is started anew, attempt ${pipeline?.attempt ?? 1}`
  }
}
