import { exponentialBackoff } from '../backoff.ts'
import type { Leadership } from '../election.ts'
import type { HostedService } from '../hosted-service.ts'
import { aborted, linkedAbort } from '../linked-abort.ts'
import { silentLogger } from '../logger.ts'
import { silentMeter } from '../meter.ts'
import type { Trigger, TriggerContext } from '../triggers/trigger.ts'
import { WORK_QUEUE_KEYS_MAX, workQueue } from '../work-queue.ts'
import { type Loop, planPump, type Term } from './loop.ts'
import { healthOf, type ReconciliationHealth, setGauges } from './loop-health.ts'
import { loopMetrics } from './loop-metrics.ts'
import type { ReconciliationOptions } from './options.ts'
import { resourceStates } from './resource-state.ts'
import { triggerContext } from './trigger-context.ts'

export interface Reconciliation extends HostedService {
  /** Adds everything, by the first trigger that can list. False when no term runs here: nothing was triggered. */
  triggerNow(): boolean
  /** News about one key from outside the triggers, such as discovery. False when no term runs here. */
  wake(key: string, cause: string): boolean
  /** A snapshot. The gauges are set to the same numbers, so ask before a scrape. */
  health(): ReconciliationHealth
}

const SHUTDOWN_DEADLINE_MS = 20_000
/** Work that was aborted and still has not ended after this is left behind; its keys stay in hand until it does. */
const ABORT_GRACE_MS = 5_000

/** The loop: triggers fill the queue, `concurrency` hands empty it, and each outcome says when to look again. */
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

/** Without an election there is nobody to lose to. */
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

/** A trigger that fails is said aloud and started again: it must neither end the loop nor stay dead unnoticed. */
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

/** Work in flight may finish within the deadline; after that, and at once when leadership was lost, it is aborted. */
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
