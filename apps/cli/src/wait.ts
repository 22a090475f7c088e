import { isProblem } from '@lcm/client/api-error'
import type { Client } from '@lcm/client/client'
import { holds } from '@lcm/domain/worker/boot'
import { CONDITION, type DesiredStatus, type Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { formatDuration } from './duration.ts'
import { CliError, EXIT, isPassing } from './exit-code.ts'
import { follow, type Notice } from './follow.ts'
import type { Progress } from './progress.ts'
import { failureOf, waitsFor } from './worker-view.ts'

export const WAIT_MS_DEFAULT = 45 * 60_000

export interface Goal {
  readonly status: DesiredStatus
  /** Since when it had been FAILED as the wait began, if it had. Only a later failure is news. */
  readonly failedSince: string | null
}

export type Verdict =
  | { readonly kind: 'under_way' }
  | { readonly kind: 'reached' }
  | { readonly kind: 'impossible'; readonly because: string }

const underWay: Verdict = { kind: 'under_way' }
const reached: Verdict = { kind: 'reached' }
const impossible = (because: string): Verdict => ({ kind: 'impossible', because })

export const goalFor = (worker: Worker): Goal => ({
  status: worker.desired_status,
  failedSince: worker.status === 'FAILED' ? worker.entered_status_at : null,
})

/** Whether a worker is where somebody waits for it to be, is on its way, or will not get there. */
export function judge(worker: Worker, goal: Goal): Verdict {
  const isUsable = goal.status !== 'RUNNING' || worker.service_status === 'AVAILABLE'
  if (worker.status === goal.status && isUsable) return reached
  if (worker.status === 'TERMINATED') return impossible(`is TERMINATED: ${failureOf(worker)}`)
  if (worker.desired_status !== goal.status) return impossible(changedMind(worker))
  if (worker.status === 'FAILED') return judgeFailed(worker, goal)
  if (goal.status === 'STOPPED' && worker.status === 'PENDING' && holds(worker.conditions, CONDITION.held))
    return reached
  return underWay
}

/** Controllers leave FAILED for a stop or an end, never for a start; and there must be a machine to stop. */
function judgeFailed(worker: Worker, goal: Goal): Verdict {
  const isOld = worker.entered_status_at === goal.failedSince
  const canLeave = goal.status === 'TERMINATED' || (goal.status === 'STOPPED' && worker.ec2_instance_id !== null)
  return isOld && canLeave ? underWay : impossible(`has FAILED: ${failureOf(worker)}`)
}

const changedMind = ({ desired_by, desired_status, desired_reason }: Worker): string =>
  `will not get there: ${desired_by} now wants it ${desired_status}${desired_reason === '' ? '' : ` (${desired_reason})`}`

export interface WaitOptions {
  readonly client: Client
  readonly clock: Clock
  /** Aborts when the person has had enough. */
  readonly signal: AbortSignal
  readonly progress: Progress
  readonly timeoutMs: number
}

/** Waits until `worker` has come to what it is wanted to be; null when its record is gone, as an end may have it. */
export async function waitForWorker(worker: Worker, options: WaitOptions): Promise<Worker | null> {
  const overall = new AbortController()
  const giveUp = () => overall.abort()
  const cancelTimeout = options.clock.after(options.timeoutMs, giveUp)
  options.signal.addEventListener('abort', giveUp)
  if (options.signal.aborted) giveUp()
  try {
    return await untilSettled(worker, { ...options, signal: overall.signal })
  } catch (error) {
    throw error instanceof Abandoned ? abandonment(worker.name, error.last, options) : error
  } finally {
    cancelTimeout()
    options.signal.removeEventListener('abort', giveUp)
    options.progress.end()
  }
}

/** What was seen of a worker: itself, that its record is gone, or nothing because nobody answered. */
type Sight = Worker | 'gone' | 'unreachable'

/** The wait ended before the worker was there. */
class Abandoned extends Error {
  readonly last: Sight

  constructor(last: Sight) {
    super('the wait was abandoned')
    this.last = last
  }
}

async function untilSettled(start: Worker, options: WaitOptions): Promise<Worker | null> {
  const goal = goalFor(start)
  let last: Sight = start
  let newest = start.version
  if (isSettled(start, goal)) return start
  options.progress.show(progressText(start))
  for await (const sight of sightsOf(start.id, options)) {
    if (typeof sight !== 'string') {
      if (sight.version < newest) continue
      newest = sight.version
      if (isSettled(sight, goal)) return sight
    } else if (sight === 'gone') {
      if (goal.status === 'TERMINATED') return null
      throw new CliError(EXIT.failed, `${start.name} is gone: somebody removed its record`)
    }
    last = sight
    options.progress.show(progressText(sight))
  }
  throw new Abandoned(last)
}

function isSettled(worker: Worker, goal: Goal): boolean {
  const verdict = judge(worker, goal)
  if (verdict.kind !== 'impossible') return verdict.kind === 'reached'
  const message = `${worker.name} ${verdict.because}; \`lcm describe worker ${worker.id}\` says more`
  throw new CliError(EXIT.failed, message)
}

async function* sightsOf(id: string, options: WaitOptions): AsyncGenerator<Sight> {
  for await (const notice of follow(options)) {
    const sight = notice.kind === 'look' ? await look(id, options) : sightIn(notice, id)
    if (sight !== null) yield sight
  }
}

async function look(id: string, { client, signal }: WaitOptions): Promise<Sight | null> {
  try {
    return await client.call('getWorker', { params: { id }, signal })
  } catch (error) {
    if (signal.aborted) return null
    if (isProblem(error, 'not_found')) return 'gone'
    if (isPassing(error)) return 'unreachable'
    throw error
  }
}

function sightIn(notice: Notice, id: string): Sight | null {
  if (notice.kind !== 'event') return null
  const { event } = notice
  if (event.type === 'worker.deleted') return event.id === id ? 'gone' : null
  const isWorker = event.type === 'worker.created' || event.type === 'worker.updated'
  return isWorker && event.id === id ? event.data : null
}

function progressText(sight: Sight): string {
  if (sight === 'unreachable') return 'API unreachable, retrying'
  if (sight === 'gone') return 'gone'
  const waits = waitsFor(sight)
  return `${sight.name} is ${sight.status}${waits === '' ? ` and will be ${sight.desired_status}` : `: ${waits}`}`
}

function abandonment(name: string, last: Sight, { signal, timeoutMs }: WaitOptions): CliError {
  const goesOn = `it goes on without you, follow it with \`lcm describe worker ${name}\``
  if (signal.aborted) return new CliError(EXIT.interrupted, `you stopped waiting for ${name}: ${goesOn}`)
  const after = `after ${formatDuration(timeoutMs)}`
  if (last === 'unreachable') {
    const message = `gave up on ${name} ${after}: the API does not answer, start it with \`npm start\` or check --url`
    return new CliError(EXIT.unreachable, message)
  }
  return new CliError(EXIT.failed, `${progressText(last)}, still so ${after}: ${goesOn}`)
}
