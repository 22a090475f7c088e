import { setMaxListeners } from 'node:events'
import type { Clock } from '@lcm/runtime/clock'

/** The wait was ended from our side; what the other side did or will do is unknown. */
export class DeadlineError extends Error {
  override readonly name = 'GivenUp'
  readonly late: boolean

  constructor(message: string, late: boolean) {
    super(message)
    this.late = late
  }
}

export interface CallLimits {
  readonly clock: Clock
  readonly deadlineMs: number
  /** Whichever aborts first ends the wait. */
  readonly signals: readonly AbortSignal[]
}

/**
 * Waits for `run` until the deadline or a signal, and no longer: not everything that hangs can be canceled, a name
 * lookup for one. Rejects with GivenUp then, and aborts the signal that `run` was given.
 */
export async function withinDeadline<Answer>(
  { clock, deadlineMs, signals }: CallLimits,
  run: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const abort = new AbortController()
  const cancel = () => abort.abort(new DeadlineError('it was canceled', false))
  const late = () => abort.abort(new DeadlineError(`no answer within ${deadlineMs} ms`, true))
  const cancelTimer = clock.after(deadlineMs, late)
  // Any number of calls may share a signal, and each takes its listener off again: a warning of a leak would be false.
  for (const signal of signals) {
    setMaxListeners(0, signal)
    signal.addEventListener('abort', cancel)
  }
  try {
    if (signals.some(signal => signal.aborted)) cancel()
    abort.signal.throwIfAborted()
    return await Promise.race([run(abort.signal), rejectedOnAbort(abort.signal)])
  } finally {
    cancelTimer()
    for (const signal of signals) signal.removeEventListener('abort', cancel)
  }
}

const rejectedOnAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
