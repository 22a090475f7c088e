import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findSession } from '../find-resource.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption, wholeNumber } from '../option-parsers.ts'
import { printOne, SESSION_VIEW } from '../resource-view.ts'
import { type ActionOptions, addAction, addSettleOptions, type SettleOptions, settle } from '../waitable-command.ts'
import { namesFor } from '../worker/worker-names.ts'
import { distanceOf } from './session-view.ts'
import { sessionSettling } from './session-wait-goal.ts'

const EXTEND_MINUTES_MAX = 24 * 60

export function defineCancel(group: Command, shell: Shell): void {
  const noun = group
    .command('session <id>')
    .alias('sessions')
    .description('Cancel a session and remove its lab')
    .action(async (id: string, options: SettleOptions, command: Command) =>
      cancel(id, options, invocation(command, shell)),
    )
  addSettleOptions(noun)
  const examples = [
    'lcm cancel session ls-0n4k2m7a8q1cd',
    'lcm cancel session ls-0n4k2m7a8q1cd --wait    wait until its lab is removed',
  ]
  group.addHelpText('afterAll', `\nExamples:\n${examples.map(line => `  ${line}`).join('\n')}`)
}

async function cancel(id: string, options: SettleOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const found = await findSession(client, id, signal)
  const session = await client.call('cancelSession', { params: { id: found.id }, signal })
  const message = isFinal(found.status)
    ? `session ${id} is already ${found.status}`
    : `session ${id} is canceled${found.lab_record_id === null ? '' : '; its lab is being removed'}`
  const settling = sessionSettling(await namesFor(options, client, signal))
  return settle({ client, item: session, settling, message }, options, invoked)
}

interface ExtendOptions {
  readonly minutes: number
  readonly output?: Format
}

export function defineExtend(group: Command, shell: Shell): void {
  group
    .command('session <id>')
    .alias('sessions')
    .description('Extend a session, up to the maximum duration of its definition')
    .requiredOption('--minutes <count>', 'Minutes to add', wholeNumber(1, EXTEND_MINUTES_MAX))
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

interface SessionVerb {
  readonly route: 'retrySession' | 'requeueSession'
  readonly summary: string
  message(session: LabletSession): string
}

const RETRY: SessionVerb = {
  route: 'retrySession',
  summary: 'Retry the placement or lab of a session, or restart its stopped lab',
  message: retried,
}

const REQUEUE: SessionVerb = {
  route: 'requeueSession',
  summary: 'Return a session to the queue; only before its lab is created',
  message: ({ id, status }) => `session ${id} is queued for a new placement; it is ${status} now`,
}

export function defineRequeue(group: Command, shell: Shell): void {
  addSessionVerb(group, REQUEUE, shell)
  const example = 'lcm requeue session ls-0n4k2m7a8q1cd --reason "its worker is needed elsewhere"'
  group.addHelpText('afterAll', `\nExamples:\n  ${example}`)
}

/** Adds `session <id>` to `retry`. */
export const addSessionRetry = (group: Command, shell: Shell): void => addSessionVerb(group, RETRY, shell)

function addSessionVerb(group: Command, verb: SessionVerb, shell: Shell): void {
  const { summary } = verb
  addAction<ActionOptions>(group, shell, {
    noun: 'session',
    summary,
    run: (id, options, invoked) => act(verb, id, options, invoked),
  })
}

async function act(verb: SessionVerb, id: string, options: ActionOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  await findSession(client, id, signal)
  const session = await client.call(verb.route, { params: { id }, body: { reason: options.reason }, signal })
  const settling = sessionSettling(await namesFor(options, client, signal))
  return settle({ client, item: session, settling, message: verb.message(session) }, options, invoked)
}

function retried({ id, status, pipeline }: LabletSession): string {
  switch (status) {
    case 'PENDING':
      return `session ${id} will be retried; it is waiting for placement`
    case 'SCHEDULED':
      return `session ${id} will be retried; it is waiting for its start time`
    case 'READY':
    case 'RUNNING':
      return `the lab of session ${id} will be restarted; the data on its nodes is kept`
    default:
      return `the lab of session ${id} will be started again, attempt ${pipeline?.attempt ?? 1}`
  }
}
