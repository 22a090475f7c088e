import { aborted, type LinkedAbort, linkedAbort } from '@lcm/runtime'
import type { KeyState } from '../change-keys/key-state.ts'
import type { EtcdClient } from '../client/client.ts'
import { callTimeoutMs, type Seat } from './candidate.ts'
import { followKey } from './follow-key.ts'
import type { Holder } from './leader-key.ts'
import { processDeath } from './process-death.ts'

export interface Standby {
  readonly seat: Seat
  readonly client: EtcdClient
  readonly holder: Holder
  /** The seat was found to be the holder's at this revision. */
  readonly revision: number
}

interface Waiting extends Standby {
  readonly wait: LinkedAbort
}

/**
 * Resolves when the holder's term is over, or with `signal`. Three ways to learn of it: a watch of the key; a look at it
 * every half lease, should the watch be deaf; and the death of the holder's process, which ends the term before its lease.
 */
export async function termOver(standby: Standby, signal: AbortSignal): Promise<void> {
  const wait = linkedAbort(signal)
  const waiting: Waiting = { ...standby, wait }
  const { seat, client, revision } = standby
  const { clock } = seat.deps
  const onState = (state: KeyState | null) => endIfOver(waiting, state)
  void followKey({ client, clock, key: seat.key, afterRevision: revision, signal: wait.signal, onState })
  void lookNowAndThen(waiting)
  void endTheDead(waiting)
  await aborted(wait.signal)
  wait.unlink()
}

function endIfOver({ holder, wait }: Waiting, state: KeyState | null): void {
  if (state?.createRevision !== holder.epoch) wait.abort(new Error('the term is over'))
}

async function lookNowAndThen(waiting: Waiting): Promise<void> {
  const { seat, client, wait } = waiting
  const { clock, leaseTtlMs } = seat.deps
  for (;;) {
    await clock.sleep(leaseTtlMs / 2, wait.signal)
    if (wait.signal.aborted) return
    try {
      endIfOver(waiting, (await client.get(seat.key, callTimeoutMs(seat))).state)
    } catch (err) {
      seat.logger.debug({ err }, 'the holder of the seat could not be looked up')
    }
  }
}

/** Revoking is safe because it names one lease: a leader that came since has another. */
async function endTheDead({ seat, client, holder, wait }: Waiting): Promise<void> {
  const { liveness_address: address, instance_id: instanceId, host } = holder.record
  if (address === undefined || seat.deps.livenessHost === undefined) return
  const isOfThisMachine = instanceId === seat.instanceId && host === seat.deps.hostName
  const onGreeted = () => seat.logger.debug({ leader: instanceId, address }, 'the process of the leader is watched')
  const { clock } = seat.deps
  const options = { clock, address, instanceId, isOfThisMachine, signal: wait.signal, onGreeted }
  if (!(await processDeath(options))) return
  seat.logger.warn({ leader: instanceId, term: holder.epoch }, 'the process of the leader is dead; its lease is ended')
  try {
    await client.revokeLease(holder.lease, callTimeoutMs(seat))
    wait.abort(new Error('the holder is dead'))
  } catch (err) {
    seat.logger.warn({ err }, 'the lease of the dead leader could not be ended; it ends by itself')
  }
}
