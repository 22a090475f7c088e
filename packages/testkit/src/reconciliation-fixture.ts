import {
  type Leadership,
  linkedAbort,
  type Reconciliation,
  type ReconciliationOptions,
  reconciliation,
  success,
  type Trigger,
  type TriggerContext,
} from '@lcm/runtime'
import { type ManualClock, manualClock } from './manual-clock.ts'
import { type RecordingLogger, recordingLogger } from './recording-logger.ts'
import { type RecordingMeter, recordingMeter } from './recording-meter.ts'

export interface Start<R> {
  readonly key: string
  readonly at: number
  readonly cause: string
  readonly listed: R | undefined
}

/** A loop on a manual clock that records every reconcile it starts. */
export interface RunningLoop<R> {
  readonly clock: ManualClock
  readonly logger: RecordingLogger
  readonly meter: RecordingMeter
  readonly loop: Reconciliation
  readonly starts: readonly Start<R>[]
  /** When reconciles of `key` started. */
  startsOf(key: string): readonly number[]
  /** Functions of a trigger in the current term, to add keys directly. */
  readonly trigger: TriggerContext<R>
  /** Begins a term with the next epoch; the loop must be idle. */
  begin(): void
  /** Requests a clean stop; resolves when the term is over. */
  stop(): Promise<void>
  /** Ends leadership; resolves when the term is over. */
  lose(): Promise<void>
}

export function runningLoop<R = unknown>(options: Partial<ReconciliationOptions<R>> = {}): RunningLoop<R> {
  const [clock, logger, meter] = [manualClock(), recordingLogger(), recordingMeter()]
  const starts: Start<R>[] = []
  let trigger: TriggerContext<R> | undefined
  const byHand: Trigger<R> = {
    name: 'by hand',
    async run(context) {
      trigger = context
    },
  }
  const inner = options.reconcile ?? (async () => success())
  const loop = reconciliation<R>({
    name: 'loop',
    clock,
    logger,
    meter,
    ...options,
    triggers: [byHand, ...(options.triggers ?? [])],
    reconcile(key, context) {
      starts.push({ key, at: clock.monotonic(), cause: context.cause, listed: context.listed })
      return inner(key, context)
    },
  })
  const terms = termsOf(loop)
  terms.begin()
  return {
    ...terms,
    clock,
    logger,
    meter,
    loop,
    starts,
    startsOf: key => starts.filter(start => start.key === key).map(start => start.at),
    get trigger() {
      if (trigger === undefined) throw new Error('no term has begun')
      return trigger
    },
  }
}

function termsOf(loop: Reconciliation): Pick<RunningLoop<unknown>, 'begin' | 'stop' | 'lose'> {
  let [epoch, stopping, lead, over] = [0, linkedAbort(), linkedAbort(), Promise.resolve()]
  const end = (what: () => void) => {
    what()
    return over
  }
  return {
    begin() {
      epoch += 1
      lead = linkedAbort()
      stopping = linkedAbort(lead.signal)
      const { signal } = lead
      const leadership: Leadership = { epoch, signal, isHeld: () => !signal.aborted }
      over = loop.run(stopping.signal, leadership)
    },
    stop: () => end(() => stopping.abort()),
    lose: () => end(() => lead.abort()),
  }
}
