import type { EtcdClient } from '../client/client.ts'
import type { LeadershipTerm } from './candidate.ts'
import { type Candidate, callTimeoutMs, ownRecord, releaseLease } from './candidate.ts'
import { type CurrentLeader, leaderOf } from './leader-key.ts'
import { startTerm } from './leadership-term.ts'
import { LeaseLost } from './lease-keep-alive.ts'

/** Another candidate leads, as of a revision. */
export interface HeldByOther {
  readonly leader: CurrentLeader
  readonly revision: number
}

/** Reads first: a standby that checks every half lease would otherwise request a lease each time for nothing. */
export async function acquireLeadership(
  candidate: Candidate,
  client: EtcdClient,
): Promise<LeadershipTerm | HeldByOther> {
  const { state, revision } = await client.get(candidate.key, callTimeoutMs(candidate))
  return state === null ? claim(candidate, client) : { leader: leaderOf(state), revision }
}

async function claim(candidate: Candidate, client: EtcdClient): Promise<LeadershipTerm | HeldByOther> {
  const { clock, leaseTtlMs } = candidate.deps
  const grantSentAtMs = clock.monotonic()
  const granted = await client.grantLease(leaseTtlMs, callTimeoutMs(candidate))
  try {
    return await claimKey(candidate, client, { ...granted, grantSentAtMs })
  } catch (error) {
    void releaseLease(candidate, granted.id)
    throw error
  }
}

interface Granted {
  readonly id: bigint
  readonly ttlMs: number
  readonly grantSentAtMs: number
}

async function claimKey(
  candidate: Candidate,
  client: EtcdClient,
  granted: Granted,
): Promise<LeadershipTerm | HeldByOther> {
  const record = await ownRecord(candidate)
  const change = {
    key: candidate.key,
    expected: { createRevision: 0 },
    value: JSON.stringify(record),
    lease: granted.id,
  }
  const { isDone, revision, current } = await client.compareAndSwap(change, callTimeoutMs(candidate))
  // After a lost response we try twice, and then our own key is in the way.
  const isOurs = isDone || current?.lease === granted.id
  if (isOurs) {
    const epoch = isDone ? revision : (current?.createRevision ?? revision)
    const ttlMs = Math.min(granted.ttlMs, candidate.deps.leaseTtlMs)
    const { grantSentAtMs } = granted
    return requireHeld(
      startTerm(candidate, client, { epoch, lease: granted.id, ttlMs, grantSentAtMs, since: record.since }),
    )
  }
  if (current === null) throw new Error('the leader key existed and was missing at once')
  void releaseLease(candidate, granted.id)
  return { leader: leaderOf(current), revision }
}

/** After a long delay the lease is nearly over: never return a leadership that is already lost. */
function requireHeld(term: LeadershipTerm): LeadershipTerm {
  if (term.leadership.isHeld()) return term
  const late = new LeaseLost('lease_ran_out', 'leadership was acquired too late')
  term.end(late)
  throw late
}
