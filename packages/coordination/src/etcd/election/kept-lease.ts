import { type Clock, linkedAbort } from '@lcm/runtime'

/** Held until its deadline, which every answered beat moves on, and never again once it has passed. */
export interface KeptLease {
  /** Answers without waiting. A process that slept past the deadline finds it false before anything else ran. */
  isHeld(): boolean
  /** Aborts with the reason why it is no longer held. */
  readonly signal: AbortSignal
  end(reason: Error): void
}

export interface KeptLeaseOptions {
  readonly clock: Clock
  readonly ttlMs: number
  /** On the monotonic clock, when the grant was sent. The server counts from later, so we are always the first to stop. */
  readonly grantSentAtMs: number
  /** Asks the server to renew the lease; answers the time to live in milliseconds, 0 when the lease is gone. */
  beat(signal: AbortSignal): Promise<number>
  onBeatFailed(error: unknown): void
}

export class LeaseLost extends Error {
  readonly code: 'lease_ran_out' | 'lease_revoked'
  constructor(code: LeaseLost['code'], message: string) {
    super(message)
    this.name = 'LeaseLost'
    this.code = code
  }
}

/** Renewed three times per time to live; an unanswered beat is repeated, elsewhere if possible, ten times. */
const BEATS_PER_TTL = 3
const HOPS_PER_TTL = 10
/** What is left of the lease on the server when we stop: for the difference of two clocks, and for writes under way. */
const MARGIN_PER_TTL = 0.1

interface Keeping {
  readonly options: KeptLeaseOptions
  readonly isOver: AbortSignal
  deadlineMs: number
  /** When the newest answered beat was sent. */
  renewedAtMs: number
  end(reason: Error): void
}

export function keepLease(options: KeptLeaseOptions): KeptLease {
  const { clock, ttlMs, grantSentAtMs } = options
  const over = linkedAbort()
  let isEnded = false
  const end = (reason: Error) => {
    if (isEnded) return
    isEnded = true
    over.abort(reason)
  }
  const keeping: Keeping = {
    options,
    isOver: over.signal,
    deadlineMs: grantSentAtMs + usableMs(ttlMs),
    renewedAtMs: grantSentAtMs,
    end,
  }
  void endAtDeadline(keeping)
  void beatUntilOver(keeping)
  return { isHeld: () => !isEnded && clock.monotonic() < keeping.deadlineMs, signal: over.signal, end }
}

const usableMs = (ttlMs: number) => ttlMs * (1 - MARGIN_PER_TTL)

async function endAtDeadline(keeping: Keeping): Promise<void> {
  const { clock } = keeping.options
  while (!keeping.isOver.aborted) {
    const leftMs = keeping.deadlineMs - clock.monotonic()
    if (leftMs <= 0) keeping.end(ranOut())
    else await clock.sleep(leftMs, keeping.isOver)
  }
}

const ranOut = () => new LeaseLost('lease_ran_out', 'the lease could not be renewed before its deadline')

async function beatUntilOver(keeping: Keeping): Promise<void> {
  const { clock, ttlMs } = keeping.options
  while (!keeping.isOver.aborted) {
    const dueInMs = keeping.renewedAtMs + ttlMs / BEATS_PER_TTL - clock.monotonic()
    if (dueInMs > 0) {
      await clock.sleep(dueInMs, keeping.isOver)
      continue
    }
    // Not awaited: one that hangs at a frozen server must not hold up the next, and a late answer still counts.
    void beatOnce(keeping)
    await clock.sleep(ttlMs / HOPS_PER_TTL, keeping.isOver)
  }
}

async function beatOnce(keeping: Keeping): Promise<void> {
  const { clock, ttlMs, beat, onBeatFailed } = keeping.options
  const sentAtMs = clock.monotonic()
  try {
    const leftMs = await beat(keeping.isOver)
    if (keeping.isOver.aborted) return
    if (leftMs <= 0) keeping.end(new LeaseLost('lease_revoked', 'etcd says that the lease is gone'))
    else renew(keeping, sentAtMs, Math.min(ttlMs, leftMs))
  } catch (error) {
    if (!keeping.isOver.aborted) onBeatFailed(error)
  }
}

/** What has passed its deadline was seen as lost by somebody, so an answer that comes now changes nothing any more. */
function renew(keeping: Keeping, sentAtMs: number, ttlMs: number): void {
  if (keeping.options.clock.monotonic() >= keeping.deadlineMs) keeping.end(ranOut())
  keeping.deadlineMs = Math.max(keeping.deadlineMs, sentAtMs + usableMs(ttlMs))
  keeping.renewedAtMs = Math.max(keeping.renewedAtMs, sentAtMs)
}
