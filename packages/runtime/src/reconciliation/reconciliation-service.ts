import { exponentialBackoff } from '../backoff.ts'
import type { Leadership } from '../election.ts'
import type { HostedService } from '../hosted-service.ts'
import { aborted, linkedAbort } from '../linked-abort.ts'
import { silentLogger } from '../logger.ts'
import { silentMeter } from '../meter.ts'
import type { AddOptions, Listing, Trigger, TriggerContext, WatchHealth } from '../triggers/trigger.ts'
import { WORK_QUEUE_KEYS_MAX, workQueue } from '../work-queue.ts'
import { forgetKey, type Loop, loopMetrics, planPump, type ReconciliationOptions, type Term } from './loop.ts'
import { resourceStates } from './resource-state.ts'

export interface Reconciliation extends HostedService {
  /** Adds everything, with the first trigger that can list. False when no term runs here: nothing was triggered. */
  triggerNow(): boolean
  /** A change of one key from outside the triggers, such as discovery. False when no term runs here. */
  wake(key: string, cause: string): boolean
  /** A snapshot. The gauges are set to the same numbers, so call it before a scrape. */
  health(): ReconciliationHealth
}

const SHUTDOWN_DEADLINE_MS = 20_000
/** Aborted work that has not ended after this is abandoned; its keys stay active until it ends. */
const ABORT_GRACE_MS = 5_000

/**
 * The loop: triggers fill the queue, up to `concurrency` reconciles empty it, and each outcome says when to run again.
 */
export function reconciliation<R = unknown>(given: ReconciliationOptions<R>): Reconciliation {
  const options = withDefaults(given)
  const metrics = loopMetrics(options.meter, options.metricPrefix)
  const { clock, keysMax } = options
  const queue = workQueue<R>({ clock, keysMax, onDue: () => planPump(loop) })
  const loop: Loop<R> = { options, queue, metrics, term: undefined, lastReconciledAt: null, lastSweptAt: null }
  const health = () => {
    const snapshot = healthOf(loop)
    setGauges(loop, snapshot)
    return snapshot
  }
  health()
  return {
    name: options.name,
    run: (signal, leadership) => runTerm(loop, signal, leadership ?? unelected()),
    triggerNow: () => triggerNow(loop),
    wake: (key, cause) => wake(loop, key, cause),
    health,
  }
}

const withDefaults = <R>(given: ReconciliationOptions<R>): Required<ReconciliationOptions<R>> => ({
  concurrency: 10,
  backoff: exponentialBackoff(),
  shutdownDeadlineMs: SHUTDOWN_DEADLINE_MS,
  keysMax: WORK_QUEUE_KEYS_MAX,
  logger: silentLogger,
  meter: silentMeter,
  metricPrefix: 'reconciliation',
  ...given,
})

/** Leadership without an election is never lost. */
const unelected = (): Leadership => ({ epoch: 0, signal: new AbortController().signal, isHeld: () => true })

async function runTerm<R>(loop: Loop<R>, signal: AbortSignal, leadership: Leadership): Promise<void> {
  if (loop.term) throw new Error(`${loop.options.name} already runs`)
  const term = openTerm(loop, signal, leadership)
  signal.addEventListener('abort', () => {
    term.isOpen = false
  })
  loop.term = term
  const context = triggerContext(loop, term)
  const triggers = loop.options.triggers.map(trigger => keepRunning(trigger, context))
  await aborted(signal)
  await drain(loop, term, triggers)
  loop.term = undefined
  loop.queue.clear()
  term.work.unlink()
}

const openTerm = <R>(loop: Loop<R>, signal: AbortSignal, leadership: Leadership): Term => ({
  signal,
  leadership,
  work: linkedAbort(leadership.signal),
  logger: loop.options.logger.child({ service: loop.options.name, epoch: leadership.epoch }),
  states: resourceStates(),
  active: 0,
  slotsTaken: 0,
  resuming: [],
  isOpen: true,
  isPumpPlanned: false,
  handOuts: 0,
  restedAt: loop.options.clock.monotonic(),
  overflows: 0,
  onIdle: () => undefined,
})

/** A failed trigger is logged and restarted: it must neither end the loop nor stay stopped unnoticed. */
async function keepRunning<R>(trigger: Trigger<R>, context: TriggerContext<R>): Promise<void> {
  for (let failures = 0; !context.signal.aborted; failures += 1) {
    try {
      return await trigger.run(context)
    } catch (err) {
      if (context.signal.aborted) return
      context.logger.error({ trigger: trigger.name, err }, 'trigger failed; it is started again')
      await context.clock.sleep(context.backoff(failures), context.signal)
    }
  }
}

/** Active work may finish within the deadline; after that, and at once when leadership was lost, it is aborted. */
async function drain<R>(loop: Loop<R>, term: Term, triggers: readonly Promise<void>[]): Promise<void> {
  const { clock, shutdownDeadlineMs } = loop.options
  const idle = new Promise<void>(resolve => {
    term.onIdle = resolve
    if (term.active === 0) resolve()
  })
  const over = linkedAbort()
  const finished = Promise.all([idle, ...triggers])
  const late = async () => {
    await Promise.race([clock.sleep(shutdownDeadlineMs, over.signal), aborted(term.work.signal)])
    if (over.signal.aborted) return
    term.work.abort(new Error('shutdown deadline passed'))
    await clock.sleep(ABORT_GRACE_MS, over.signal)
    if (!over.signal.aborted) term.logger.error({ active: term.active }, 'work that ignores its signal is left behind')
  }
  await Promise.race([finished, late()])
  over.abort()
}

function triggerNow<R>(loop: Loop<R>): boolean {
  const context = runningContext(loop)
  const trigger = loop.options.triggers.find(candidate => candidate.runNow)
  if (context === undefined || trigger?.runNow === undefined) return false
  trigger.runNow(context).catch(err => context.logger.error({ trigger: trigger.name, err }, 'trigger failed'))
  return true
}

function wake<R>(loop: Loop<R>, key: string, cause: string): boolean {
  const context = runningContext(loop)
  context?.add(key, cause)
  return context !== undefined
}

const runningContext = <R>(loop: Loop<R>) =>
  loop.term && !loop.term.signal.aborted ? triggerContext(loop, loop.term) : undefined

/** A listing waits while more keys than this are due. */
const LISTING_BACKLOG_MAX = 5_000
const LISTING_BACKLOG_CHECK_MS = 50
/** A full queue rejects key after key; one log line per this many is enough. */
const OVERFLOWS_PER_LOG_LINE = 1_000

/** Every function checks that the term still runs, since a trigger may notice its end late. */
function triggerContext<R>(loop: Loop<R>, term: Term): TriggerContext<R> {
  const { clock, backoff } = loop.options
  return {
    signal: term.signal,
    clock,
    backoff,
    logger: term.logger,
    add: (key, cause, when) => add(loop, term, key, { ...when, cause }),
    forget: key => forgetKey(loop, term, key),
    seen: key => term.states.read(key),
    openListing: cause => openListing(loop, term, cause),
    async waitForCapacity() {
      while (loop.queue.due > LISTING_BACKLOG_MAX && !term.signal.aborted) {
        await clock.sleep(LISTING_BACKLOG_CHECK_MS, term.signal)
      }
    },
    countWatchEvent: type => loop.metrics.watchEvents[type](),
  }
}

function add<R>(loop: Loop<R>, term: Term, key: string, news: AddOptions & { cause: string }): void {
  if (term.signal.aborted) return
  try {
    loop.queue.add(key, news)
  } catch (err) {
    noteOverflow(term, key, err)
  }
}

function offer<R>(loop: Loop<R>, term: Term, key: string, routine: { cause: string; copy: R | undefined }): void {
  if (term.signal.aborted) return
  try {
    loop.queue.offer(key, routine)
  } catch (err) {
    noteOverflow(term, key, err)
  }
}

/** A key that a full queue rejects is logged and lost to this trigger; the next listing adds it again. */
function noteOverflow(term: Term, key: string, err: unknown): void {
  if (term.overflows % OVERFLOWS_PER_LOG_LINE === 0) term.logger.error({ key, err }, 'key could not be queued')
  term.overflows += 1
}

function openListing<R>(loop: Loop<R>, term: Term, cause: string): Listing<R> {
  const touched = loop.queue.openListing()
  const known = term.states.openListing()
  return {
    offer(key, copy) {
      known.mark(key)
      offer(loop, term, key, { cause, copy: touched.isTouched(key) ? undefined : copy })
    },
    mark: key => known.mark(key),
    completeSweep() {
      known.purge()
      loop.lastSweptAt = loop.options.clock.now()
    },
    close: () => touched.close(),
  }
}

/** Health of a loop, for the health route, the heartbeat and the statistics page. */
export interface ReconciliationHealth {
  readonly name: string
  /** Degraded while a watch is: polling continues, and changes are noticed late. */
  readonly status: 'healthy' | 'degraded'
  readonly running: boolean
  readonly epoch: number | null
  readonly last_reconciliation: string | null
  /** The last complete listing of everything. */
  readonly last_sweep: string | null
  readonly resources_managed: number
  readonly resources_pending: number
  readonly active_reconciles: number
  readonly queue_depth: number
  readonly queue_oldest_age_ms: number
  /** Keys whose last outcome was a retry. */
  readonly retries: number
  readonly watches: readonly WatchHealth[]
}

function healthOf<R>(loop: Loop<R>): ReconciliationHealth {
  const { options, queue, term } = loop
  const monotonicMs = options.clock.monotonic()
  const watches = term ? options.triggers.flatMap(trigger => trigger.watchHealth?.(monotonicMs) ?? []) : []
  return {
    name: options.name,
    status: watches.some(watch => watch.degraded) ? 'degraded' : 'healthy',
    running: term !== undefined,
    epoch: term?.leadership.epoch ?? null,
    last_reconciliation: iso(loop.lastReconciledAt),
    last_sweep: iso(loop.lastSweptAt),
    resources_managed: term?.states.size ?? 0,
    resources_pending: queue.depth,
    active_reconciles: term?.active ?? 0,
    queue_depth: queue.due,
    queue_oldest_age_ms: queue.oldestAgeMs(),
    retries: term?.states.retrying ?? 0,
    watches,
  }
}

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

function setGauges<R>({ metrics }: Loop<R>, health: ReconciliationHealth): void {
  metrics.active.set(health.active_reconciles)
  metrics.pending.set(health.resources_pending)
  metrics.queueDepth.set(health.queue_depth)
  metrics.queueOldestAge.set(health.queue_oldest_age_ms / 1_000)
  metrics.leader.set(health.running ? 1 : 0)
  metrics.leaderTerm.set(health.epoch ?? 0)
  metrics.watchAge.set(Math.max(0, ...health.watches.map(watch => watch.age_ms ?? 0)) / 1_000)
  metrics.watchDegraded.set(health.status === 'degraded' ? 1 : 0)
}
