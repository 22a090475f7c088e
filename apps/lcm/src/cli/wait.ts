import { isProblem } from '@lcm/client/api-error'
import type { Client } from '@lcm/client/client'
import type { EventEnvelope } from '@lcm/contract/events'
import type { Clock } from '@lcm/runtime/clock'
import { CliError, EXIT, isPassing } from './exit-code.ts'
import { follow, type Notice } from './follow-events.ts'
import type { Resource } from './resource-view.ts'
import { formatDuration } from './terminal/duration.ts'
import type { Progress } from './terminal/progress.ts'

export const WAIT_MS_DEFAULT = 45 * 60_000

export type Verdict =
  | { readonly kind: 'under_way' }
  | { readonly kind: 'reached' }
  | { readonly kind: 'impossible'; readonly because: string }

export const underWay: Verdict = { kind: 'under_way' }
export const reached: Verdict = { kind: 'reached' }
export const impossible = (because: string): Verdict => ({ kind: 'impossible', because })

/** One thing that somebody waits for. */
export interface Waited<T extends Resource> {
  /** As it was when the wait began. */
  readonly start: T
  readonly noun: string
  /** What sentences call it. */
  readonly name: string
  /** What `lcm describe` finds it by. */
  readonly handle: string
  /** Whether it has come to its end once its record is gone. */
  readonly mayVanish: boolean
  read(client: Client, signal: AbortSignal): Promise<T>
  /** What an event tells of things of this kind. */
  changed(event: EventEnvelope): T | null
  deleted(event: EventEnvelope): string | null
  judge(item: T): Verdict
  /** Where it stands, as a sentence without its end. */
  progressText(item: T): string
}

export interface WaitOptions {
  readonly client: Client
  readonly clock: Clock
  /** Aborts when the person has had enough. */
  readonly signal: AbortSignal
  readonly progress: Progress
  readonly timeoutMs: number
}

/** Waits until a thing has come to where it is wanted to be; null when its record is gone, as an end may have it. */
export async function waitFor<T extends Resource>(waited: Waited<T>, options: WaitOptions): Promise<T | null> {
  const overall = new AbortController()
  const giveUp = () => overall.abort()
  const cancelTimeout = options.clock.after(options.timeoutMs, giveUp)
  options.signal.addEventListener('abort', giveUp)
  if (options.signal.aborted) giveUp()
  try {
    const end = await untilSettled(waited, { ...options, signal: overall.signal })
    if (end.kind === 'abandoned') throw abandonment(waited, end.last, options)
    return end.item
  } finally {
    cancelTimeout()
    options.signal.removeEventListener('abort', giveUp)
    options.progress.end()
  }
}

/** What was seen of it: itself, that its record is gone, or nothing because nobody answered. */
type Sight<T> = T | 'gone' | 'unreachable'

type End<T> =
  | { readonly kind: 'settled'; readonly item: T | null }
  /** The wait ended before it was there. */
  | { readonly kind: 'abandoned'; readonly last: Sight<T> }

async function untilSettled<T extends Resource>(waited: Waited<T>, options: WaitOptions): Promise<End<T>> {
  const { start } = waited
  let last: Sight<T> = start
  let newest = start.version
  if (isSettled(waited, start)) return { kind: 'settled', item: start }
  options.progress.show(sightText(waited, start))
  for await (const sight of sightsOf(waited, options)) {
    if (typeof sight !== 'string') {
      if (sight.version < newest) continue
      newest = sight.version
      if (isSettled(waited, sight)) return { kind: 'settled', item: sight }
    } else if (sight === 'gone') {
      if (waited.mayVanish) return { kind: 'settled', item: null }
      throw new CliError(EXIT.failed, `${waited.name} is gone: somebody removed its record`)
    }
    last = sight
    options.progress.show(sightText(waited, sight))
  }
  return { kind: 'abandoned', last }
}

function isSettled<T extends Resource>({ name, noun, start, judge }: Waited<T>, item: T): boolean {
  const verdict = judge(item)
  if (verdict.kind !== 'impossible') return verdict.kind === 'reached'
  throw new CliError(EXIT.failed, `${name} ${verdict.because}; \`lcm describe ${noun} ${start.id}\` says more`)
}

async function* sightsOf<T extends Resource>(waited: Waited<T>, options: WaitOptions): AsyncGenerator<Sight<T>> {
  for await (const notice of follow(options)) {
    const sight = notice.kind === 'look' ? await look(waited, options) : sightIn(waited, notice)
    if (sight !== null) yield sight
  }
}

async function look<T extends Resource>(waited: Waited<T>, { client, signal }: WaitOptions): Promise<Sight<T> | null> {
  try {
    return await waited.read(client, signal)
  } catch (error) {
    if (signal.aborted) return null
    if (isProblem(error, 'not_found')) return 'gone'
    if (isPassing(error)) return 'unreachable'
    throw error
  }
}

function sightIn<T extends Resource>({ start, changed, deleted }: Waited<T>, notice: Notice): Sight<T> | null {
  if (notice.kind !== 'event') return null
  if (deleted(notice.event) === start.id) return 'gone'
  const item = changed(notice.event)
  return item?.id === start.id ? item : null
}

function sightText<T extends Resource>(waited: Waited<T>, sight: Sight<T>): string {
  if (sight === 'unreachable') return 'API unreachable, retrying'
  return sight === 'gone' ? 'gone' : waited.progressText(sight)
}

function abandonment<T extends Resource>(
  waited: Waited<T>,
  last: Sight<T>,
  { signal, timeoutMs }: WaitOptions,
): CliError {
  const { name, noun, handle } = waited
  const goesOn = `it goes on without you, follow it with \`lcm describe ${noun} ${handle}\``
  if (signal.aborted) return new CliError(EXIT.interrupted, `you stopped waiting for ${name}: ${goesOn}`)
  const after = `after ${formatDuration(timeoutMs)}`
  if (last === 'unreachable') {
    const message = `gave up on ${name} ${after}: the API does not answer, start it with \`npm start\` or check --url`
    return new CliError(EXIT.unreachable, message)
  }
  return new CliError(EXIT.failed, `${sightText(waited, last)}, still so ${after}: ${goesOn}`)
}
