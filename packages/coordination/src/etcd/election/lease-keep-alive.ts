import { type Clock, linkedAbort } from '@lcm/runtime'

/** Held until its deadline, which every successful renewal extends. Never held again once the deadline has passed. */
export interface HeldLease {
  /** Synchronous. A process that slept past the deadline gets false before any other code runs. */
  isHeld(): boolean
  /** Aborts with the reason why the lease is no longer held. */
  readonly signal: AbortSignal
  end(reason: Error): void
}

export interface LeaseKeepAliveOptions {
  readonly clock: Clock
  readonly ttlMs: number
  /** Monotonic time when the grant was sent. The server counts from later, so we always stop first. */
  readonly grantSentAtMs: number
  /** Renews the lease; returns the time to live in milliseconds, 0 when the lease is gone. */
  renew(signal: AbortSignal): Promise<number>
  onRenewalFailed(error: unknown): void
}

export class LeaseLost extends Error {
  readonly code: 'lease_ran_out' | 'lease_revoked'
  constructor(code: LeaseLost['code'], message: string) {
    super(message)
    this.name = 'LeaseLost'
    this.code = code
  }
}

/** Three renewals per time to live; a renewal without response is repeated ten times, at other members if possible. */
const RENEWALS_PER_TTL = 3
const RETRIES_PER_TTL = 10
/** Part of the lease left on the server when we stop: for clock differences and writes in progress. */
const MARGIN_PER_TTL = 0.1

interface LeaseState {
  readonly options: LeaseKeepAliveOptions
  readonly isOver: AbortSignal
  deadlineMs: number
  /** When the newest successful renewal was sent. */
  renewedAtMs: number
  end(reason: Error): void
}

export function keepLeaseAlive(options: LeaseKeepAliveOptions): HeldLease {
  const { clock, ttlMs, grantSentAtMs } = options
  const over = linkedAbort()
  let isEnded = false
  const end = (reason: Error) => {
    if (isEnded) return
    isEnded = true
    over.abort(reason)
  }
  const lease: LeaseState = {
    options,
    isOver: over.signal,
    deadlineMs: grantSentAtMs + usableMs(ttlMs),
    renewedAtMs: grantSentAtMs,
    end,
  }
  void endAtDeadline(lease)
  void renewUntilOver(lease)
  return { isHeld: () => !isEnded && clock.monotonic() < lease.deadlineMs, signal: over.signal, end }
}

const usableMs = (ttlMs: number) => ttlMs * (1 - MARGIN_PER_TTL)

async function endAtDeadline(lease: LeaseState): Promise<void> {
  const { clock } = lease.options
  while (!lease.isOver.aborted) {
    const leftMs = lease.deadlineMs - clock.monotonic()
    if (leftMs <= 0) lease.end(ranOut())
    else await clock.sleep(leftMs, lease.isOver)
  }
}

const ranOut = () => new LeaseLost('lease_ran_out', 'the lease could not be renewed before its deadline')

async function renewUntilOver(lease: LeaseState): Promise<void> {
  const { clock, ttlMs } = lease.options
  while (!lease.isOver.aborted) {
    const dueInMs = lease.renewedAtMs + ttlMs / RENEWALS_PER_TTL - clock.monotonic()
    if (dueInMs > 0) {
      await clock.sleep(dueInMs, lease.isOver)
      continue
    }
    // Not awaited: a call that hangs at a frozen server must not delay the next, and a late response still counts.
    void renewOnce(lease)
    await clock.sleep(ttlMs / RETRIES_PER_TTL, lease.isOver)
  }
}

async function renewOnce(lease: LeaseState): Promise<void> {
  const { clock, ttlMs, renew: beat, onRenewalFailed: onBeatFailed } = lease.options
  const sentAtMs = clock.monotonic()
  try {
    const leftMs = await beat(lease.isOver)
    if (lease.isOver.aborted) return
    if (leftMs <= 0) lease.end(new LeaseLost('lease_revoked', 'etcd reports that the lease is gone'))
    else extend(lease, sentAtMs, Math.min(ttlMs, leftMs))
  } catch (error) {
    if (!lease.isOver.aborted) onBeatFailed(error)
  }
}

/** After the deadline the lease was observed as lost, so a late response changes nothing. */
function extend(lease: LeaseState, sentAtMs: number, ttlMs: number): void {
  if (lease.options.clock.monotonic() >= lease.deadlineMs) lease.end(ranOut())
  lease.deadlineMs = Math.max(lease.deadlineMs, sentAtMs + usableMs(ttlMs))
  lease.renewedAtMs = Math.max(lease.renewedAtMs, sentAtMs)
}
