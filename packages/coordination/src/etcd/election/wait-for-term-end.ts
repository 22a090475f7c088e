import { aborted, type LinkedAbort, linkedAbort } from '@lcm/runtime'
import type { EtcdClient } from '../client/client.ts'
import type { KeyState } from '../client/key-state.ts'
import { type Candidate, callTimeoutMs } from './candidate.ts'
import type { CurrentLeader } from './leader-key.ts'
import { waitForProcessExit } from './wait-for-process-exit.ts'
import { watchKey } from './watch-key.ts'

export interface Standby {
  readonly candidate: Candidate
  readonly client: EtcdClient
  readonly leader: CurrentLeader
  /** Revision at which the leader was observed. */
  readonly revision: number
}

interface Waiting extends Standby {
  readonly wait: LinkedAbort
}

/**
 * Resolves when the leader's term is over, or with `signal`. Detects it in three ways: a watch on the key; a read every
 * half lease, in case the watch is silent; and the exit of the leader's process, which ends the term before its lease.
 */
export async function waitForTermEnd(standby: Standby, signal: AbortSignal): Promise<void> {
  const wait = linkedAbort(signal)
  const waiting: Waiting = { ...standby, wait }
  const { candidate, client, revision } = standby
  const { clock } = candidate.deps
  const onState = (state: KeyState | null) => endIfOver(waiting, state)
  void watchKey({ client, clock, key: candidate.key, afterRevision: revision, signal: wait.signal, onState })
  void pollLeaderKey(waiting)
  void revokeLeaseOnExit(waiting)
  await aborted(wait.signal)
  wait.unlink()
}

function endIfOver({ leader, wait }: Waiting, state: KeyState | null): void {
  if (state?.createRevision !== leader.epoch) wait.abort(new Error('the term is over'))
}

async function pollLeaderKey(waiting: Waiting): Promise<void> {
  const { candidate, client, wait } = waiting
  const { clock, leaseTtlMs } = candidate.deps
  for (;;) {
    await clock.sleep(leaseTtlMs / 2, wait.signal)
    if (wait.signal.aborted) return
    try {
      endIfOver(waiting, (await client.get(candidate.key, callTimeoutMs(candidate))).state)
    } catch (err) {
      candidate.logger.debug({ err }, 'the leader key could not be read')
    }
  }
}

/** Revoking is safe because it names one lease: a newer leader has another. */
async function revokeLeaseOnExit({ candidate, client, leader, wait }: Waiting): Promise<void> {
  const { liveness_address: address, instance_id: instanceId, host } = leader.record
  if (address === undefined || candidate.deps.livenessHost === undefined) return
  const isLocal = instanceId === candidate.instanceId && host === candidate.deps.hostName
  const onGreeted = () => candidate.logger.debug({ leader: instanceId, address }, "watching the leader's process")
  const { clock } = candidate.deps
  const options = { clock, address, instanceId, isLocal, signal: wait.signal, onGreeted }
  if (!(await waitForProcessExit(options))) return
  candidate.logger.warn(
    { leader: instanceId, term: leader.epoch },
    "the leader's process has exited; revoking its lease",
  )
  try {
    await client.revokeLease(leader.lease, callTimeoutMs(candidate))
    wait.abort(new Error("the leader's process has exited"))
  } catch (err) {
    candidate.logger.warn({ err }, 'the lease of the exited leader could not be revoked; it expires by itself')
  }
}
