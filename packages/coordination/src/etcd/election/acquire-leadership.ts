import type { EtcdClient } from '../client/client.ts'
import { callTimeoutMs, ownRecord, releaseLease, type Seat } from './candidate.ts'
import { LeaseLost } from './kept-lease.ts'
import { type Holder, holderOf } from './leader-key.ts'
import { beginTenure, type Tenure } from './leadership-term.ts'

/** The seat is taken, as of a revision. */
export interface Occupied {
  readonly holder: Holder
  readonly revision: number
}

/** Looks first: a standby that looks every half lease would otherwise ask for a lease each time, for nothing. */
export async function contend(seat: Seat, client: EtcdClient): Promise<Tenure | Occupied> {
  const { state, revision } = await client.get(seat.key, callTimeoutMs(seat))
  return state === null ? take(seat, client) : { holder: holderOf(state), revision }
}

async function take(seat: Seat, client: EtcdClient): Promise<Tenure | Occupied> {
  const { clock, leaseTtlMs } = seat.deps
  const grantSentAtMs = clock.monotonic()
  const granted = await client.grantLease(leaseTtlMs, callTimeoutMs(seat))
  try {
    return await takeWith(seat, client, { ...granted, grantSentAtMs })
  } catch (error) {
    void releaseLease(seat, granted.id)
    throw error
  }
}

interface Granted {
  readonly id: bigint
  readonly ttlMs: number
  readonly grantSentAtMs: number
}

async function takeWith(seat: Seat, client: EtcdClient, granted: Granted): Promise<Tenure | Occupied> {
  const record = await ownRecord(seat)
  const change = { key: seat.key, expected: { createRevision: 0 }, value: JSON.stringify(record), lease: granted.id }
  const { isDone, revision, current } = await client.swap(change, callTimeoutMs(seat))
  // An answer that got lost makes us ask twice, and then it is our own key that stands in the way.
  const isOurs = isDone || current?.lease === granted.id
  if (isOurs) {
    const epoch = isDone ? revision : (current?.createRevision ?? revision)
    const ttlMs = Math.min(granted.ttlMs, seat.deps.leaseTtlMs)
    const { grantSentAtMs } = granted
    return alive(beginTenure(seat, client, { epoch, lease: granted.id, ttlMs, grantSentAtMs, since: record.since }))
  }
  if (current === null) throw new Error('the seat was taken and free at once')
  void releaseLease(seat, granted.id)
  return { holder: holderOf(current), revision }
}

/** It took so long that the lease is nearly over: nobody gets a leadership that is already lost. */
function alive(tenure: Tenure): Tenure {
  if (tenure.leadership.isHeld()) return tenure
  const late = new LeaseLost('lease_ran_out', 'the seat was won too late to be of use')
  tenure.end(late)
  throw late
}
