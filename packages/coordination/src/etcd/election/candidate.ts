import type { Clock, Logger } from '@lcm/runtime'
import type { EtcdClient } from '../client/client.ts'
import type { Liveness } from '../client/liveness.ts'
import type { Holder, LeaderRecord } from './leader-key.ts'
import type { Tenure } from './leadership-term.ts'

/** What all elections of one process share. */
export interface ElectionDeps {
  readonly clock: Clock
  readonly logger: Logger
  readonly hostName: string
  readonly keyPrefix: string
  readonly leaseTtlMs: number
  readonly retryIntervalMs: number
  readonly livenessHost: string | undefined
  /** Aborts when all of it is closed. */
  readonly isClosed: AbortSignal
  connect(): Promise<EtcdClient>
}

/** One instance's part in one election. */
export interface Seat {
  readonly deps: ElectionDeps
  readonly logger: Logger
  readonly instanceId: string
  readonly key: string
  /** Ours, while we lead. */
  tenure: Tenure | undefined
  /** Who was last seen in it. */
  holder: Holder | undefined
  isCampaigning: boolean
  /** On the monotonic clock: until then we stay away, since we have resigned. */
  awayUntilMs: number
  liveness: Promise<Liveness | undefined> | undefined
  /** What is given back behind the scenes. It ends in bounded time and never rejects. */
  readonly cleanups: Set<Promise<void>>
}

/** Calls of an election give up long before the lease that they are about would. */
export const callTimeoutMs = ({ deps }: Seat): number => Math.min(5_000, deps.leaseTtlMs / 4)

/** A stop waits for it, and stops have deadlines. */
const RELEASE_TIMEOUT_MS = 2_000

/** Gives a lease back, and with it the key that hangs on it. What cannot be given back ends with its time to live. */
export function releaseLease(seat: Seat, lease: bigint): Promise<void> {
  const release = async () => {
    try {
      const client = await seat.deps.connect()
      await client.revokeLease(lease, Math.min(RELEASE_TIMEOUT_MS, callTimeoutMs(seat)))
    } catch (err) {
      seat.logger.warn({ err }, 'lease could not be released; it ends by itself')
    }
  }
  const cleanup = release()
  seat.cleanups.add(cleanup)
  return cleanup.finally(() => seat.cleanups.delete(cleanup))
}

export async function ownRecord(seat: Seat): Promise<LeaderRecord> {
  const { clock, hostName } = seat.deps
  const since = new Date(clock.now()).toISOString()
  const record = { instance_id: seat.instanceId, host: hostName, since }
  const liveness = await seat.liveness
  return liveness === undefined ? record : { ...record, liveness_address: liveness.address }
}
