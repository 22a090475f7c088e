import { type Instant, readInstant } from '@lcm/domain/instant'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { durationMs, type Format, formatOption, type Invocation, invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'
import { parseDuration } from '../terminal/duration.ts'
import { settle } from '../wait-until-settled.ts'
import { namesFor } from '../worker/worker-names.ts'
import { distanceOf } from './session-view.ts'
import { patienceFor, sessionSettling } from './session-wait.ts'

const MINUTE_MS = 60_000
/** The most that any definition allows. */
const LENGTH_MS_MAX = 7 * 24 * 60 * MINUTE_MS

interface BookOptions {
  readonly start?: Instant
  /** In minutes. */
  readonly for?: number
  readonly reservation?: string
  readonly wait?: boolean
  readonly timeout?: number
  readonly output?: Format
}

export function defineBook(book: Command, shell: Shell): void {
  book
    .argument('<definition>', 'what to book (see `lcm get definitions`)')
    .option('--start <time>', 'when it begins, such as 2026-01-31T09:00Z (default: now)', timeOf)
    .option('--for <duration>', 'how long it lasts, such as 90m (default: as long as may be)', minutesOf)
    .option('--reservation <id>', 'your own number for it')
    .option('--wait', 'show the steps and end when its lab is up, with the ways in')
    .addOption(
      new Option('--timeout <duration>', 'how long --wait has patience (default: 45m beyond its start)').argParser(
        durationMs,
      ),
    )
    .addOption(formatOption())
    .action(async (definition: string, options: BookOptions, command: Command) =>
      bookSession(definition, options, invocation(command, shell)),
    )
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm book bgp-basics --wait                             now, and get the ways in
  lcm book bgp-basics --start 2026-01-31T09:00Z --for 90m`

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/

function timeOf(text: string): Instant {
  const instant = ISO_TIME.test(text) ? readInstant(text) : null
  if (instant === null) throw new InvalidArgumentError('Give a time such as 2026-01-31T09:00Z.')
  return instant
}

function minutesOf(text: string): number {
  const ms = parseDuration(text, Number.POSITIVE_INFINITY)
  if (ms !== null && ms > LENGTH_MS_MAX)
    throw new InvalidArgumentError('It is too long: a session lasts 7d at most, and its definition may allow less.')
  const minutes = durationMs(text) / MINUTE_MS
  if (!Number.isInteger(minutes)) throw new InvalidArgumentError('Give whole minutes, such as 90m or 1h30m.')
  return minutes
}

async function bookSession(name: string, options: BookOptions, invoked: Invocation): Promise<void> {
  const { start, for: duration_minutes, reservation: reservation_id } = options
  const { clock, signal } = invoked.shell
  const { client } = await invoked.connect()
  const body = { definition: name, start, duration_minutes, reservation_id }
  const session = await client.call('createSession', { body, signal })
  const timeout = options.timeout ?? patienceFor(session, clock.now())
  const { id, definition: pinned, timeslot } = session
  const slot = `from ${timeslot.start} to ${timeslot.end}, ends ${distanceOf(timeslot.end, clock.now())}`
  const said = `session ${id} of ${pinned.name} ${pinned.version} is booked ${slot}`
  const settling = sessionSettling(await namesFor(options, client, signal))
  return settle({ client, item: session, settling, said }, { ...options, timeout }, invoked)
}
