import { aborted, type Leadership } from '@lcm/runtime'
import type { EtcdClient } from '../client/client.ts'
import { releaseLease, type Seat } from './candidate.ts'
import { followKey } from './follow-key.ts'
import { type KeptLease, keepLease } from './kept-lease.ts'

/** One time of leading, from the key's creation to its loss. */
export interface Tenure {
  readonly leadership: Leadership
  readonly since: string
  end(reason: Error): void
  /** Resolves when what was held in etcd has been given back, or given up on. Ended tenures only. */
  readonly isReleased: Promise<void>
}

export class LeadershipEnded extends Error {
  readonly code: 'leader_resigned' | 'leader_key_deleted' | 'leader_key_replaced'
  constructor(code: LeadershipEnded['code'], message: string) {
    super(message)
    this.name = 'LeadershipEnded'
    this.code = code
  }
}

export interface Won {
  readonly epoch: number
  readonly lease: bigint
  readonly ttlMs: number
  /** On the monotonic clock, when the lease was asked for. */
  readonly grantSentAtMs: number
  readonly since: string
}

/** Holds what was won for as long as etcd confirms it. */
export function beginTenure(seat: Seat, client: EtcdClient, won: Won): Tenure {
  const { clock } = seat.deps
  const kept = keepLease({
    clock,
    ttlMs: won.ttlMs,
    grantSentAtMs: won.grantSentAtMs,
    beat: signal => client.keepAlive(won.lease, { signal, patienceMs: won.ttlMs / 10 }),
    onBeatFailed: err => seat.logger.debug({ err }, 'keep-alive was not answered'),
  })
  void guardOwnKey(seat, client, won, kept)
  return {
    leadership: { epoch: won.epoch, signal: kept.signal, isHeld: kept.isHeld },
    since: won.since,
    end: kept.end,
    isReleased: release(seat, won, kept),
  }
}

/** We never write the key again, so whatever happens to it was done by somebody else and ends our leadership. */
function guardOwnKey(seat: Seat, client: EtcdClient, { epoch, lease }: Won, kept: KeptLease): Promise<void> {
  return followKey({
    client,
    clock: seat.deps.clock,
    key: seat.key,
    afterRevision: epoch,
    signal: kept.signal,
    onState(state) {
      if (state === null) kept.end(new LeadershipEnded('leader_key_deleted', 'the key of the election was deleted'))
      else if (state.createRevision !== epoch || state.modRevision !== epoch || state.lease !== lease)
        kept.end(new LeadershipEnded('leader_key_replaced', 'the key of the election was replaced'))
    },
  })
}

async function release(seat: Seat, { lease, epoch }: Won, { signal }: KeptLease): Promise<void> {
  await aborted(signal)
  const err: unknown = signal.reason
  const isOurs = err instanceof LeadershipEnded && err.code === 'leader_resigned'
  if (isOurs) seat.logger.info({ term: epoch }, 'leadership is given up')
  else seat.logger.warn({ term: epoch, err }, 'leadership is lost')
  await releaseLease(seat, lease)
}
