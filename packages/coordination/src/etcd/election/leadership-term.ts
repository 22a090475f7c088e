import { aborted } from '@lcm/runtime'
import type { EtcdClient } from '../client/client.ts'
import { type Candidate, type LeadershipTerm, releaseLease } from './candidate.ts'
import { type HeldLease, keepLeaseAlive } from './lease-keep-alive.ts'
import { watchKey } from './watch-key.ts'

export class LeadershipEnded extends Error {
  readonly code: 'leader_resigned' | 'leader_key_deleted' | 'leader_key_replaced'
  constructor(code: LeadershipEnded['code'], message: string) {
    super(message)
    this.name = 'LeadershipEnded'
    this.code = code
  }
}

export interface WonElection {
  readonly epoch: number
  readonly lease: bigint
  readonly ttlMs: number
  /** Monotonic time when the lease was requested. */
  readonly grantSentAtMs: number
  readonly since: string
}

/** Holds the leadership for as long as etcd confirms it. */
export function startTerm(candidate: Candidate, client: EtcdClient, won: WonElection): LeadershipTerm {
  const { clock } = candidate.deps
  const kept = keepLeaseAlive({
    clock,
    ttlMs: won.ttlMs,
    grantSentAtMs: won.grantSentAtMs,
    renew: signal => client.keepAlive(won.lease, { signal, slowAfterMs: won.ttlMs / 10 }),
    onRenewalFailed: err => candidate.logger.debug({ err }, 'keep-alive got no response'),
  })
  void guardOwnKey(candidate, client, won, kept)
  return {
    leadership: { epoch: won.epoch, signal: kept.signal, isHeld: kept.isHeld },
    since: won.since,
    end: kept.end,
    isReleased: release(candidate, won, kept),
  }
}

/** We never write the key again, so any change comes from another writer and ends our leadership. */
function guardOwnKey(
  candidate: Candidate,
  client: EtcdClient,
  { epoch, lease }: WonElection,
  kept: HeldLease,
): Promise<void> {
  return watchKey({
    client,
    clock: candidate.deps.clock,
    key: candidate.key,
    afterRevision: epoch,
    signal: kept.signal,
    onState(state) {
      if (state === null) kept.end(new LeadershipEnded('leader_key_deleted', 'the leader key was deleted'))
      else if (state.createRevision !== epoch || state.modRevision !== epoch || state.lease !== lease)
        kept.end(new LeadershipEnded('leader_key_replaced', 'the leader key was replaced'))
    },
  })
}

async function release(candidate: Candidate, { lease, epoch }: WonElection, { signal }: HeldLease): Promise<void> {
  await aborted(signal)
  const err: unknown = signal.reason
  const isOurs = err instanceof LeadershipEnded && err.code === 'leader_resigned'
  if (isOurs) candidate.logger.info({ term: epoch }, 'leadership resigned')
  else candidate.logger.warn({ term: epoch, err }, 'leadership lost')
  await releaseLease(candidate, lease)
}
