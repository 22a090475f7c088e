import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { admissionText } from '@lcm/domain/text/admission-text'
import { momentText } from '@lcm/domain/text/format-amounts'
import { type Command, Option } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { durationMs, type Format, formatOption } from '../option-parsers.ts'
import { printDocument } from '../terminal/print-document.ts'
import { settle } from '../waitable-command.ts'
import { namesFor } from '../worker/worker-names.ts'
import { minutesOf, seatsOf, type TimeOptions, timeOf, withAlternatives } from './booking-options.ts'
import { distanceOf } from './session-view.ts'
import { sessionSettling, timeoutFor } from './session-wait-goal.ts'

interface BookOptions extends TimeOptions {
  readonly bestEffort?: boolean
  readonly reservation?: string
  readonly resume?: string
  readonly wait?: boolean
  readonly timeout?: number
  readonly output?: Format
}

export function defineBook(book: Command, shell: Shell): void {
  book
    .argument('[definition]', 'Definition to book (list them with `lcm get definitions`); omit it with --resume')
    .option('--start <time>', 'Start time, such as 2026-01-31T09:00Z (default: now)', timeOf)
    .option('--for <duration>', 'Duration, such as 90m (default: the maximum of the definition)', minutesOf)
    .option('--seats <count>', 'Book as many sessions at the same time, all or none', seatsOf)
    .option('--best-effort', 'Book without a promise: the session gets what promised sessions leave')
    .option('--reservation <id>', 'Your own reference number')
    .option('--resume <save>', 'Continue with saved work (list it with `lcm get saves`)')
    .option('--wait', 'Show progress and wait until the lab is ready, then print how to connect')
    .addOption(
      new Option('--timeout <duration>', 'Timeout for --wait (default: 45m after the start time)').argParser(
        durationMs,
      ),
    )
    .addOption(formatOption())
    .action(async (definition: string | undefined, options: BookOptions, command: Command) =>
      bookSession(definition, options, invocation(command, shell)),
    )
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm book bgp-basics --wait                             book it now and print how to connect
  lcm book bgp-basics --start 2026-01-31T09:00Z --for 90m
  lcm book bgp-basics --start 2026-01-31T09:00Z --seats 20
  lcm book --resume sv-0n4k2m7a8q1cd --wait              continue with the work of an earlier session`

async function bookSession(definition: string | undefined, options: BookOptions, invoked: Invocation): Promise<void> {
  const { start, for: duration_minutes, seats, bestEffort: best_effort, reservation: reservation_id } = options
  const resume_save = options.resume
  if (definition === undefined && resume_save === undefined)
    throw new CliError(EXIT.usage, 'nothing to book', 'name a definition, or a save with --resume')
  if (definition !== undefined && resume_save !== undefined)
    throw new CliError(EXIT.usage, `${resume_save} has its own definition`, `omit ${definition}`)
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const slot = { start, duration_minutes, best_effort }
  const refuse = (error: unknown) => {
    throw withAlternatives(error, definition ?? `--resume ${resume_save}`, options)
  }
  if (seats !== undefined && definition !== undefined) {
    refuseWithSeats(options)
    const { items } = await client
      .call('createSessions', { body: { definition, seats, ...slot }, signal })
      .catch(refuse)
    return printBooked(items, options, invoked)
  }
  const body = { definition, ...slot, reservation_id, resume_save }
  const session = await client.call('createSession', { body, signal }).catch(refuse)
  const timeout = options.timeout ?? timeoutFor(session, invoked.shell.clock.now())
  const { id, definition: pinned } = session
  const message = `session ${id} of ${pinned.name} ${pinned.version} booked ${slotText(session, invoked)}`
  const settling = sessionSettling(await namesFor(options, client, signal))
  return settle({ client, item: session, settling, message }, { ...options, timeout }, invoked)
}

function slotText({ timeslot: { start, end }, admission }: LabletSession, { shell }: Invocation): string {
  const times = `from ${momentText(start)} to ${momentText(end)}, ends ${distanceOf(end, shell.clock.now())}`
  return `${times}. ${admissionText(admission)}`
}

function refuseWithSeats({ reservation, wait }: BookOptions): void {
  if (reservation !== undefined)
    throw new CliError(EXIT.usage, 'a reservation number is for one session', 'omit --seats')
  if (wait === true) throw new CliError(EXIT.usage, 'only one session can be waited for', 'omit --wait')
}

async function printBooked(
  items: readonly LabletSession[],
  { output: format = 'table' }: BookOptions,
  invoked: Invocation,
) {
  const [first] = items
  if (first === undefined) return
  const { name, version } = first.definition
  const message = `${items.length} sessions of ${name} ${version} booked ${slotText(first, invoked)}`
  const ids = items.map(({ id }) => id)
  const booked = { data: { items }, names: () => ids.map(id => `session/${id}`), lines: () => [message, ...ids] }
  return printDocument(booked, format, invoked.output)
}
