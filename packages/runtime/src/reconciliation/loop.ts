import type { Backoff } from '../backoff.ts'
import type { Clock } from '../clock.ts'
import type { Leadership } from '../election.ts'
import type { LinkedAbort } from '../linked-abort.ts'
import type { Logger } from '../logger.ts'
import type { Counter, Gauge, Histogram, Labels, Meter } from '../meter.ts'
import type { Trigger } from '../triggers/trigger.ts'
import type { Again, WorkItem, WorkQueue } from '../work-queue.ts'
import { type Known, type ReconciliationResult, type ResourceStates, retry } from './resource-state.ts'

export interface ReconcileContext<R = unknown> {
  /** Aborts at once when leadership is lost; on a clean stop only after the shutdown deadline. */
  readonly signal: AbortSignal
  /** Fencing token of the term of this work; 0 without an election. */
  readonly epoch: number
  readonly leadership: Leadership
  /** Event that woke the key. For logs only: a reconcile observes the resource, not the event. */
  readonly cause: string
  /** Has the key bound. */
  readonly logger: Logger
  /** The copy that a listing of this cycle has just read, if the key has not changed since. */
  readonly listed: R | undefined
  /**
   * Runs a slow call without holding a slot: other keys are reconciled in the meantime, this one stays active. It takes
   * a slot again before it continues.
   */
  withoutSlot<Answer>(work: () => Promise<Answer>): Promise<Answer>
}

export interface ReconciliationOptions<R = unknown> {
  readonly name: string
  readonly clock: Clock
  readonly triggers: readonly Trigger<R>[]
  /** Acts or observes, persists, and returns when to run again. Slow calls go through `withoutSlot`: slots are few. */
  reconcile(key: string, context: ReconcileContext<R>): Promise<ReconciliationResult>
  readonly concurrency?: number
  readonly backoff?: Backoff
  /** Deadline for reconciles in progress after a clean stop. */
  readonly shutdownDeadlineMs?: number
  /** Maximum number of distinct queued keys. */
  readonly keysMax?: number
  readonly logger?: Logger
  readonly meter?: Meter
  readonly metricPrefix?: string
}

/** Lives as long as the service. The queue outlives terms, so that an active key is not handed out twice. */
export interface Loop<R> {
  readonly options: Required<ReconciliationOptions<R>>
  readonly queue: WorkQueue<R>
  readonly metrics: LoopMetrics
  term: Term | undefined
  lastReconciledAt: number | null
  lastSweptAt: number | null
}

/** One run of the loop: from winning leadership, or from the start, to its end. */
export interface Term {
  /** Aborts when no new work may start. */
  readonly signal: AbortSignal
  readonly leadership: Leadership
  /** Aborts active work. */
  readonly work: LinkedAbort
  readonly logger: Logger
  readonly states: ResourceStates
  /** Keys being reconciled. */
  active: number
  /** Active keys that hold a slot; the others wait for a slow call. */
  slotsTaken: number
  /** Reconciles whose slow call has ended, in the order in which they get a slot again. */
  readonly resuming: (() => void)[]
  /** False while no key may be handed out: stopping, or yielding the thread. */
  isOpen: boolean
  isPumpPlanned: boolean
  handOuts: number
  restedAt: number
  overflows: number
  onIdle: () => void
}

/** The loop yields to timers and sockets this often, checking the clock every few keys. */
const REST_EVERY_MS = 20
const REST_CHECK_HAND_OUTS = 16
/** Maximum number of active keys, with or without a slot: a cloud that never responds must not collect all keys. */
const IN_HAND_MAX = 1_000

/** A key is due. Keys are handed out at the end of the tick, so that a burst is merged and urgent keys come first. */
export function planPump<R>(loop: Loop<R>): void {
  const { term } = loop
  if (term === undefined || term.isPumpPlanned || !hasSlot(loop, term)) return
  term.isPumpPlanned = true
  queueMicrotask(() => {
    term.isPumpPlanned = false
    pump(loop, term, loop.options.clock.monotonic())
  })
}

const hasSlot = <R>(loop: Loop<R>, term: Term) => term.isOpen && term.active < IN_HAND_MAX && isSlotFree(loop, term)

const isSlotFree = <R>({ options }: Loop<R>, { slotsTaken }: Term) => slotsTaken < options.concurrency

/** One of the loop's few slots, held by one reconcile from start to end, except during slow calls. */
interface Slot {
  state: 'held' | 'lent' | 'over'
}

const isOver = ({ state }: Slot) => state === 'over'

/** Other keys use the slot while `work` waits. Work whose call has ended goes before keys that have not started. */
async function withoutSlot<R, Answer>(
  loop: Loop<R>,
  term: Term,
  slot: Slot,
  work: () => Promise<Answer>,
): Promise<Answer> {
  // A nested call holds no slot to release.
  if (slot.state !== 'held') return work()
  slot.state = 'lent'
  freeSlot(loop, term)
  try {
    return await work()
  } finally {
    if (slot.state === 'lent') {
      if (isSlotFree(loop, term)) term.slotsTaken += 1
      else await new Promise<void>(resolve => term.resuming.push(resolve))
      // The reconcile may have ended without waiting for this call, and no longer needs the slot.
      if (isOver(slot)) freeSlot(loop, term)
      else slot.state = 'held'
    }
  }
}

/** The slot goes to work that waits to resume, or becomes free for the next key. */
function freeSlot<R>(loop: Loop<R>, term: Term): void {
  const resume = term.resuming.shift()
  if (resume) {
    resume()
    return
  }
  term.slotsTaken -= 1
  planPump(loop)
}

function pump<R>(loop: Loop<R>, term: Term, nowMs: number): void {
  for (let startMs = nowMs; hasSlot(loop, term); startMs = loop.options.clock.monotonic()) {
    const item = loop.queue.take()
    if (item === undefined) return
    term.active += 1
    term.slotsTaken += 1
    term.handOuts += 1
    void work(loop, term, item, startMs)
    if (term.handOuts % REST_CHECK_HAND_OUTS === 0) restIfBusy(loop, term, startMs)
  }
}

/** Reconciles without I/O would otherwise continue in microtasks and starve everything else. */
function restIfBusy<R>(loop: Loop<R>, term: Term, nowMs: number): void {
  if (!term.isOpen || nowMs - term.restedAt < REST_EVERY_MS) return
  const { clock } = loop.options
  term.isOpen = false
  clock.after(0, () => {
    term.restedAt = clock.monotonic()
    term.isOpen = !term.signal.aborted
    pump(loop, term, term.restedAt)
  })
}

interface Outcome {
  readonly result: ReconciliationResult
  readonly label: ReconcileOutcome
  readonly known: Known
  readonly cause: string
  readonly logger: Logger
  readonly startMs: number
  readonly endMs: number
}

const LABELS = { SUCCESS: 'success', REQUEUE: 'requeue', RETRY: 'retry', SKIP: 'skip' } as const

async function work<R>(loop: Loop<R>, term: Term, item: WorkItem<R>, startMs: number): Promise<void> {
  const { key, cause, newsAt } = item
  if (newsAt >= 0) loop.metrics.eventToStart.observe((startMs - newsAt) / 1_000)
  const known = term.states.begin(key)
  const logger = term.logger.child({ key })
  const slot: Slot = { state: 'held' }
  let result: ReconciliationResult
  let label: ReconcileOutcome
  try {
    result = await loop.options.reconcile(key, {
      ...contextFor(term, item, logger),
      withoutSlot: slow => withoutSlot(loop, term, slot, slow),
    })
    label = LABELS[result.status]
  } catch (error) {
    result = retry(error instanceof Error ? error.message : String(error), error)
    label = 'error'
  }
  if (slot.state === 'held') freeSlot(loop, term)
  slot.state = 'over'
  giveBack(loop, term, item, { result, label, known, cause, logger, startMs, endMs: loop.options.clock.monotonic() })
}

const contextFor = <R>(term: Term, { cause, copy }: WorkItem<R>, logger: Logger) => ({
  signal: term.work.signal,
  epoch: term.leadership.epoch,
  leadership: term.leadership,
  cause,
  logger,
  listed: copy,
})

export function forgetKey<R>(loop: Loop<R>, term: Term, key: string): void {
  if (loop.term !== term) return
  loop.queue.forget(key)
  term.states.forget(key)
}

/** Work that outlived its term only returns the key: its result does not count in the next term. */
function giveBack<R>(loop: Loop<R>, term: Term, item: WorkItem<R>, outcome: Outcome): void {
  term.active -= 1
  if (loop.term !== term) loop.queue.done(item)
  else if (term.work.signal.aborted) {
    loop.queue.done(item)
    outcome.logger.debug({ cause: outcome.cause, ms: outcome.endMs - outcome.startMs }, 'reconcile aborted')
  } else conclude(loop, term, item, outcome)
  if (term.active === 0) term.onIdle()
  pump(loop, term, outcome.endMs)
}

function conclude<R>(loop: Loop<R>, term: Term, item: WorkItem<R>, outcome: Outcome): void {
  const { result } = outcome
  const { options, metrics } = loop
  const nowMs = options.clock.now()
  const retryAfterMs = result.status === 'RETRY' ? options.backoff(outcome.known.retryCount) : 0
  const isNew = term.states.settle(outcome.known, result, nowMs, retryAfterMs)
  loop.queue.done(item, againAfter(result, retryAfterMs))
  loop.lastReconciledAt = nowMs
  metrics.reconciles[outcome.label]()
  metrics.duration.observe((outcome.endMs - outcome.startMs) / 1_000)
  if (result.status === 'RETRY') metrics.retries.add()
  log(outcome, isNew)
}

function againAfter(result: ReconciliationResult, retryAfterMs: number): Again | undefined {
  if (result.status === 'REQUEUE') return { afterMs: result.afterMs, cause: 'requeue' }
  if (result.status === 'RETRY') return { afterMs: retryAfterMs, cause: 'retry' }
  return undefined
}

/** A result that repeats, or that other keys fail with too, is logged at debug level. */
function log({ result, cause, logger, startMs, endMs }: Outcome, isNew: boolean): void {
  const fields = { cause, status: result.status, message: result.message, ms: endMs - startMs }
  if (result.status === 'RETRY') {
    const failure = { ...fields, err: result.error }
    if (isNew) logger.warn(failure, 'reconcile failed')
    else logger.debug(failure, 'reconcile failed')
  } else if (result.message !== undefined && isNew) logger.info(fields, 'reconciled')
  else logger.debug(fields, 'reconciled')
}

/** `error` is a reconcile that threw; the others are results. */
type ReconcileOutcome = 'success' | 'requeue' | 'retry' | 'skip' | 'error'

interface LoopMetrics {
  readonly reconciles: Readonly<Record<ReconcileOutcome, () => void>>
  readonly retries: Counter
  readonly duration: Histogram
  readonly eventToStart: Histogram
  readonly watchEvents: Readonly<Record<'put' | 'delete', () => void>>
  readonly active: Gauge
  readonly pending: Gauge
  readonly queueDepth: Gauge
  readonly queueOldestAge: Gauge
  readonly leader: Gauge
  readonly leaderTerm: Gauge
  readonly watchAge: Gauge
  readonly watchDegraded: Gauge
}

/** All instruments of a loop, registered at once with zero values, so that an absent series is a fault. */
export function loopMetrics(meter: Meter, prefix: string): LoopMetrics {
  const gauge = (name: string, help: string) => meter.gauge(`${prefix}_${name}`, help)
  const total = meter.counter(`${prefix}_reconcile_total`, 'Reconciles by result', ['result'])
  const result = (outcome: ReconcileOutcome) => counted(total, { result: outcome })
  const events = meter.counter(`${prefix}_watch_events_total`, 'Changes received by watches', ['type'])
  return {
    reconciles: {
      success: result('success'),
      requeue: result('requeue'),
      retry: result('retry'),
      skip: result('skip'),
      error: result('error'),
    },
    watchEvents: { put: counted(events, { type: 'put' }), delete: counted(events, { type: 'delete' }) },
    retries: meter.counter(`${prefix}_retries_total`, 'Backoffs begun'),
    duration: meter.histogram(`${prefix}_reconcile_duration_seconds`, 'Time of one reconcile'),
    eventToStart: meter.histogram(
      `${prefix}_event_to_reconcile_seconds`,
      'Time from news to the start of its reconcile',
    ),
    active: gauge('active_reconciles', 'Reconciles running now'),
    pending: gauge('resources_pending', 'Keys that wait for a slot or for their time'),
    queueDepth: gauge('queue_depth', 'Keys that are due and wait for a slot'),
    queueOldestAge: gauge('queue_oldest_age_seconds', 'Age of the key that has been due longest'),
    leader: gauge('leader', '1 while this instance leads'),
    leaderTerm: gauge('leader_term', 'Fencing epoch of the current term, 0 without one'),
    watchAge: gauge('watch_age_seconds', 'Time since the last sign of life of the quietest watch'),
    watchDegraded: gauge('watch_degraded', '1 while a watch has failed too many times in a row'),
  }
}

/** Labels are created once, for speed. */
function counted(counter: Counter, labels: Labels): () => void {
  counter.add(0, labels)
  return () => counter.add(1, labels)
}
