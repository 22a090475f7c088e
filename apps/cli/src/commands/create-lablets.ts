import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Instant, readInstant } from '@lcm/domain/instant'
import { DefinitionName, type LabletDefinition } from '@lcm/domain/lablet/lablet-definition'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { CliError, EXIT } from '../exit-code.ts'
import { durationMs, type Format, formatOption, type Invocation, invocation, wholeNumber } from '../invocation.ts'
import { countOf, needsOf } from '../lablets/definition-view.ts'
import { distanceOf } from '../lablets/session-view.ts'
import { patienceFor, SESSION_SETTLING } from '../lablets/session-wait.ts'
import { DEFINITION_VIEW, printOne } from '../resource-view.ts'
import { settle } from '../settle.ts'
import type { Shell } from '../shell.ts'

const MINUTES_MAX = 7 * 24 * 60

interface CreateDefinitionOptions {
  readonly file: string
  readonly name?: string
  readonly title?: string
  readonly maxMinutes?: number
  readonly output?: Format
}

export function addCreateDefinition(create: Command, shell: Shell): void {
  create
    .command('definition')
    .description('define a lab that people can book, from a CML topology')
    .requiredOption('-f, --file <file>', 'the YAML that CML exports')
    .option('--name <name>', 'what to call it (default: as the file)')
    .option('--title <title>', 'what people read')
    .option('--max-minutes <count>', 'how long a session may last', wholeNumber(1, MINUTES_MAX))
    .addOption(formatOption())
    .action(async (options: CreateDefinitionOptions, command: Command) =>
      createDefinition(options, invocation(command, shell)),
    )
}

async function createDefinition(options: CreateDefinitionOptions, invoked: Invocation): Promise<void> {
  const { file, title, maxMinutes: max_duration_minutes, output: format } = options
  const { shell, output, connect } = invoked
  const name = options.name ?? nameIn(file)
  const topology = await readTopology(file)
  const { client } = await connect()
  const body = { name, topology, title, max_duration_minutes }
  const definition = await client.call('createDefinition', { body, signal: shell.signal })
  if (format !== undefined) return printOne(DEFINITION_VIEW, definition, { output, format, nowMs: shell.clock.now() })
  if (!output.quiet) output.out(createdText(definition))
}

const createdText = (definition: LabletDefinition): string =>
  `definition ${definition.name} ${definition.definition_version} (${definition.id}) is ${definition.status}: ` +
  `${needsOf(definition)}, ${countOf(definition.port_template.length, 'port')}`

/** `labs/BGP basics.yaml` is `bgp-basics`. */
function nameIn(file: string): string {
  const name = basename(file)
    .replace(/\.[^.]*$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  if (DefinitionName.safeParse(name).success) return name
  throw new CliError(EXIT.usage, `no name can be made of ${file}: give one with --name`)
}

const readTopology = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CliError(EXIT.failed, `${file} can't be read (${error.code}): give the YAML of a lab with --file`)
  })

interface CreateSessionOptions {
  readonly definition: string
  readonly start?: Instant
  readonly minutes?: number
  readonly reservation?: string
  readonly wait?: boolean
  readonly timeout?: number
  readonly output?: Format
}

export function addCreateSession(create: Command, shell: Shell): void {
  create
    .command('session')
    .description('book a lab')
    .requiredOption('-d, --definition <name>', 'what to book (see `lcm get definitions`)')
    .option('--start <time>', 'when it begins, such as 2026-01-31T09:00Z (default: now)', timeOf)
    .option('--minutes <count>', 'how long it lasts (default: as long as may be)', wholeNumber(1, MINUTES_MAX))
    .option('--reservation <id>', 'your own number for it')
    .option('--wait', 'show the steps and end when its lab is up, with the ways in')
    .addOption(
      new Option('--timeout <duration>', 'how long --wait has patience (default: 45m beyond its start)').argParser(
        durationMs,
      ),
    )
    .addOption(formatOption())
    .action(async (options: CreateSessionOptions, command: Command) =>
      createSession(options, invocation(command, shell)),
    )
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/

function timeOf(text: string): Instant {
  const instant = ISO_TIME.test(text) ? readInstant(text) : null
  if (instant === null) throw new InvalidArgumentError('Give a time such as 2026-01-31T09:00Z.')
  return instant
}

async function createSession(options: CreateSessionOptions, invoked: Invocation): Promise<void> {
  const { definition, start, minutes: duration_minutes, reservation: reservation_id } = options
  const { clock, signal } = invoked.shell
  const { client } = await invoked.connect()
  const body = { definition, start, duration_minutes, reservation_id }
  const session = await client.call('createSession', { body, signal })
  const timeout = options.timeout ?? patienceFor(session, clock.now())
  const { id, definition: pinned, timeslot } = session
  const slot = `from ${timeslot.start} to ${timeslot.end}, ends ${distanceOf(timeslot.end, clock.now())}`
  const said = `session ${id} of ${pinned.name} ${pinned.version} is booked ${slot}`
  return settle({ client, item: session, settling: SESSION_SETTLING, said }, { ...options, timeout }, invoked)
}
