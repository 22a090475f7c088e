import type { NotificationTargetView } from '@lcm/contract/notification'
import {
  NOTIFICATION_KINDS,
  NotificationKind,
  SEVERITIES,
  type Severity,
  TARGET_TYPES,
  type TargetType,
} from '@lcm/domain/notification/notification-target'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { addOneStep, type OneStep } from '../one-step-command.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { printOne } from '../resource-view.ts'
import { secretIn } from '../worker/read-secret.ts'
import { NOTIFICATIONS, TARGET_VIEW, TARGETS } from './notification-kinds.ts'

interface TargetOptions {
  readonly type: TargetType
  readonly name?: string
  readonly urlFile?: string
  readonly signingKeyFile?: string
  readonly to?: readonly string[]
  readonly toOwner?: boolean
  readonly kinds?: readonly NotificationKind[]
  readonly severity?: Severity
  readonly definitions?: readonly string[]
  readonly owners?: readonly string[]
  readonly output?: Format
}

const separated = (text: string): string[] =>
  text
    .split(',')
    .map(each => each.trim())
    .filter(each => each !== '')

function kindsOf(text: string): NotificationKind[] {
  const parsed = NotificationKind.array().safeParse(separated(text))
  if (parsed.success) return parsed.data
  throw new InvalidArgumentError(`Give one or more of ${NOTIFICATION_KINDS.join(', ')}, separated by commas.`)
}

const addTargetOptions = (command: Command): Command =>
  command
    .option('--url-file <file>', 'File with the address of a webhook or slack target')
    .option('--signing-key-file <file>', 'File with the key that signs requests to a webhook')
    .option('--to <addresses>', 'Email addresses, separated by commas; "" removes them', separated)
    .option('--to-owner', 'Also write to the owner of each session, about that session only')
    .option('--kinds <kinds>', 'Kinds to send, separated by commas; "" for all', kindsOf)
    .addOption(new Option('--severity <severity>', 'Lowest severity to send').choices(SEVERITIES))
    .option('--definitions <names>', 'Only sessions of these definitions, separated by commas; "" for all', separated)
    .option('--owners <ids>', 'Only sessions of these people, separated by commas; "" for all', separated)
    .addOption(formatOption())

async function fieldsOf(options: TargetOptions) {
  const { urlFile, signingKeyFile, to, toOwner, kinds, severity, definitions, owners } = options
  const url = urlFile === undefined ? undefined : (await secretIn('address', urlFile)).trim()
  const key = signingKeyFile === undefined ? undefined : (await secretIn('signing key', signingKeyFile)).trim()
  return {
    ...(url === undefined ? {} : { url }),
    ...(key === undefined ? {} : { signing_key: key }),
    ...(to === undefined ? {} : { to: [...to] }),
    ...(toOwner === undefined ? {} : { to_owner: toOwner }),
    ...(kinds === undefined ? {} : { kinds: [...kinds] }),
    ...(severity === undefined ? {} : { min_severity: severity }),
    ...(definitions === undefined ? {} : { definitions: [...definitions] }),
    ...(owners === undefined ? {} : { owners: [...owners] }),
  }
}

export function addCreateTarget(create: Command, shell: Shell): void {
  const command = create
    .command('target <name>')
    .description('Create a notification target, such as a Slack channel')
    .addOption(new Option('--type <type>', 'How it is sent').choices(TARGET_TYPES).makeOptionMandatory())
  addTargetOptions(command).action(async (name: string, options: TargetOptions, command: Command) => {
    const invoked = invocation(command, shell)
    const { type } = options
    const fields = await fieldsOf(options)
    const { client } = await invoked.connect()
    const body = { name, type, ...fields }
    const target = await client.call('createNotificationTarget', { body, signal: shell.signal })
    await print(target, `target ${name} created`, options, invoked)
    invoked.output.note(`Send a test message with: lcm test target ${name}`)
  })
}

export function addEditTarget(edit: Command, shell: Shell): void {
  const command = edit
    .command('target <name>')
    .alias('targets')
    .description('Change a notification target')
    .option('--name <name>', 'New name')
  // After its opposite: otherwise its default would be true.
  addTargetOptions(command).option('--no-to-owner', 'No longer write to owners')
  command.action(async (idOrName: string, options: TargetOptions, command: Command) => {
    const invoked = invocation(command, shell)
    const body = { ...(options.name === undefined ? {} : { name: options.name }), ...(await fieldsOf(options)) }
    if (Object.keys(body).length === 0)
      throw new CliError(EXIT.usage, 'nothing to change', 'see `lcm edit target --help`')
    const { client } = await invoked.connect()
    const { id, version } = await TARGETS.find(client, idOrName, shell.signal)
    const call = { params: { id }, ifMatch: version, signal: shell.signal }
    const target = await client.call('patchNotificationTarget', { ...call, body })
    const isSame = target.version === version
    await print(target, `target ${target.name} ${isSame ? 'unchanged' : 'changed'}`, options, invoked)
  })
}

async function print(
  target: NotificationTargetView,
  message: string,
  { output: format }: TargetOptions,
  { shell, output }: Invocation,
): Promise<void> {
  if (format !== undefined) return printOne(TARGET_VIEW, target, { output, format, nowMs: shell.clock.now() })
  if (!output.quiet) output.out(message)
}

export const RETRY_NOTIFICATION: OneStep = {
  usage: 'notification <id>',
  plural: 'notifications',
  summary: 'Send a notification again that LCM gave up',
  async run(client, wanted, signal) {
    const { id } = await NOTIFICATIONS.find(client, wanted, signal)
    const { status } = await client.call('retryNotification', { params: { id }, signal })
    return `notification ${id} is ${status}`
  },
}

const TEST_TARGET: OneStep = {
  usage: 'target <name>',
  plural: 'targets',
  summary: 'Send a test message and print whether the target accepted it',
  async run(client, idOrName, signal) {
    const { id, name } = await TARGETS.find(client, idOrName, signal)
    const { delivered, error } = await client.call('testNotificationTarget', { params: { id }, signal })
    if (!delivered) throw new CliError(EXIT.failed, `${name} did not accept the test message: ${error}`)
    return `${name} accepted the test message`
  },
}

export function defineTest(group: Command, shell: Shell): void {
  addOneStep(group, TEST_TARGET, shell)
  group.addHelpText('afterAll', '\nExamples:\n  lcm test target ops')
}
