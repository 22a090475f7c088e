import { type Instant, readInstant } from '@lcm/domain/instant'
import { momentText } from '@lcm/domain/text/format-amounts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { durationMs, type Format, formatOption } from '../option-parsers.ts'
import { parseDuration } from '../terminal/duration.ts'
import { settle } from '../waitable-command.ts'
import { namesFor } from '../worker/worker-names.ts'
import { distanceOf } from './session-view.ts'
import { sessionSettling, timeoutFor } from './session-wait-goal.ts'

const MINUTE_MS = 60_000
/** The upper limit for all definitions. */
const LENGTH_MS_MAX = 7 * 24 * 60 * MINUTE_MS

interface BookOptions {
  readonly start?: Instant
  /** In minutes. */
  readonly for?: number
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
  lcm book --resume sv-0n4k2m7a8q1cd --wait              continue with the work of an earlier session`

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/

function timeOf(text: string): Instant {
  const instant = ISO_TIME.test(text) ? readInstant(text) : null
  if (instant === null) throw new InvalidArgumentError('Give a time such as 2026-01-31T09:00Z.')
  return instant
}

function minutesOf(text: string): number {
  const ms = parseDuration(text, Number.POSITIVE_INFINITY)
  if (ms !== null && ms > LENGTH_MS_MAX)
    throw new InvalidArgumentError('The maximum is 7d; the definition may allow less.')
  const minutes = durationMs(text) / MINUTE_MS
  if (!Number.isInteger(minutes)) throw new InvalidArgumentError('Give whole minutes, such as 90m or 1h30m.')
  return minutes
}

async function bookSession(definition: string | undefined, options: BookOptions, invoked: Invocation): Promise<void> {
  const { start, for: duration_minutes, reservation: reservation_id, resume: resume_save } = options
  if (definition === undefined && resume_save === undefined)
    throw new CliError(EXIT.usage, 'nothing to book', 'name a definition, or a save with --resume')
  if (definition !== undefined && resume_save !== undefined)
    throw new CliError(EXIT.usage, `${resume_save} has its own definition`, `omit ${definition}`)
  const { clock, signal } = invoked.shell
  const { client } = await invoked.connect()
  const body = { definition, start, duration_minutes, reservation_id, resume_save }
  const session = await client.call('createSession', { body, signal })
  const timeout = options.timeout ?? timeoutFor(session, clock.now())
  const { id, definition: pinned, timeslot } = session
  const slot = `from ${momentText(timeslot.start)} to ${momentText(timeslot.end)}, ends ${distanceOf(timeslot.end, clock.now())}`
  const message = `session ${id} of ${pinned.name} ${pinned.version} booked ${slot}`
  const settling = sessionSettling(await namesFor(options, client, signal))
  return settle({ client, item: session, settling, message }, { ...options, timeout }, invoked)
}
