import { type Client, isProblem } from '@lcm/client/client'
import type { EventEnvelope } from '@lcm/contract/events'
import type { Clock } from '@lcm/runtime/clock'
import { CliError, EXIT, isPassing } from './cli-error.ts'
import { follow, type Notice } from './follow-events.ts'
import type { Resource } from './resource-view.ts'
import { formatDuration } from './terminal/duration.ts'
import type { Progress } from './terminal/progress.ts'

export const WAIT_MS_DEFAULT = 45 * 60_000

export type Verdict =
  | { readonly kind: 'under_way' }
  | { readonly kind: 'reached' }
  | { readonly kind: 'impossible'; readonly because: string; readonly advice: string | null }

export const underWay: Verdict = { kind: 'under_way' }
export const reached: Verdict = { kind: 'reached' }
export const impossible = (because: string, advice: string | null = null): Verdict => ({
  kind: 'impossible',
  because,
  advice,
})

/** One resource to wait for. */
export interface Waited<T extends Resource> {
  /** The resource at the start of the wait. */
  readonly start: T
  readonly noun: string
  /** Name in messages. */
  readonly name: string
  /** Argument for `lcm describe`. */
  readonly handle: string
  /** Whether deletion of the record ends the wait successfully. */
  readonly mayVanish: boolean
  read(client: Client, signal: AbortSignal): Promise<T>
  /** The resource in an event, if it is of this kind. */
  changed(event: EventEnvelope): T | null
  deleted(event: EventEnvelope): string | null
  judge(item: T): Verdict
  /** Current progress, without a final period. */
  progressText(item: T): string
}

export interface WaitOptions {
  readonly client: Client
  readonly clock: Clock
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal
  readonly progress: Progress
  readonly timeoutMs: number
}

/** Waits until a resource has reached its goal. Returns null if its record was deleted and `mayVanish` is set. */
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

/** One observation: the resource, that its record is gone, or that the API does not respond. */
type Observation<T> = T | 'gone' | 'unreachable'

type End<T> =
  | { readonly kind: 'settled'; readonly item: T | null }
  /** The wait ended before the goal was reached. */
  | { readonly kind: 'abandoned'; readonly last: Observation<T> }

async function untilSettled<T extends Resource>(waited: Waited<T>, options: WaitOptions): Promise<End<T>> {
  const { start } = waited
  let last: Observation<T> = start
  let newest = start.version
  if (isSettled(waited, start)) return { kind: 'settled', item: start }
  options.progress.show(observationText(waited, start))
  for await (const observation of observationsOf(waited, options)) {
    if (typeof observation !== 'string') {
      if (observation.version < newest) continue
      newest = observation.version
      if (isSettled(waited, observation)) return { kind: 'settled', item: observation }
    } else if (observation === 'gone') {
      if (waited.mayVanish) return { kind: 'settled', item: null }
      throw new CliError(EXIT.failed, `${waited.name} was deleted`)
    }
    last = observation
    options.progress.show(observationText(waited, observation))
  }
  return { kind: 'abandoned', last }
}

function isSettled<T extends Resource>({ name, noun, start, judge }: Waited<T>, item: T): boolean {
  const verdict = judge(item)
  if (verdict.kind !== 'impossible') return verdict.kind === 'reached'
  throw new CliError(
    EXIT.failed,
    `${name} ${verdict.because}`,
    verdict.advice ?? `run \`lcm describe ${noun} ${start.id}\` for details`,
  )
}

async function* observationsOf<T extends Resource>(
  waited: Waited<T>,
  options: WaitOptions,
): AsyncGenerator<Observation<T>> {
  for await (const notice of follow(options)) {
    const observation = notice.kind === 'refresh' ? await read(waited, options) : observationIn(waited, notice)
    if (observation !== null) yield observation
  }
}

async function read<T extends Resource>(
  waited: Waited<T>,
  { client, signal }: WaitOptions,
): Promise<Observation<T> | null> {
  try {
    return await waited.read(client, signal)
  } catch (error) {
    if (signal.aborted) return null
    if (isProblem(error, 'not_found')) return 'gone'
    if (isPassing(error)) return 'unreachable'
    throw error
  }
}

function observationIn<T extends Resource>(
  { start, changed, deleted }: Waited<T>,
  notice: Notice,
): Observation<T> | null {
  if (notice.kind !== 'event') return null
  if (deleted(notice.event) === start.id) return 'gone'
  const item = changed(notice.event)
  return item?.id === start.id ? item : null
}

function observationText<T extends Resource>(waited: Waited<T>, observation: Observation<T>): string {
  if (observation === 'unreachable') return 'API unreachable, retrying'
  return observation === 'gone' ? 'gone' : waited.progressText(observation)
}

function abandonment<T extends Resource>(
  waited: Waited<T>,
  last: Observation<T>,
  { signal, timeoutMs }: WaitOptions,
): CliError {
  const { name, noun, handle } = waited
  const goesOn = `it continues in the background, check it with \`lcm describe ${noun} ${handle}\``
  if (signal.aborted) return new CliError(EXIT.interrupted, `stopped waiting for ${name}`, goesOn)
  const after = `after ${formatDuration(timeoutMs)}`
  if (last === 'unreachable') {
    const message = `timed out waiting for ${name} ${after}: the API does not respond`
    return new CliError(EXIT.unreachable, message, 'start it with `npm start` or check --url')
  }
  return new CliError(EXIT.failed, `timed out ${after}: ${observationText(waited, last)}`, goesOn)
}
