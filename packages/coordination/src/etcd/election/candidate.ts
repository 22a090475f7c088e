import type { Clock, Leadership, Logger } from '@lcm/runtime'
import type { EtcdClient } from '../client/client.ts'
import type { CurrentLeader, LeaderRecord } from './leader-key.ts'
import type { LivenessServer } from './liveness-server.ts'

/** Shared by all elections of one process. */
export interface ElectionDeps {
  readonly clock: Clock
  readonly logger: Logger
  readonly hostName: string
  readonly keyPrefix: string
  readonly leaseTtlMs: number
  readonly retryIntervalMs: number
  readonly livenessHost: string | undefined
  /** Aborts when coordination is closed. */
  readonly isClosed: AbortSignal
  connect(): Promise<EtcdClient>
}

/** One leadership, from the key's creation to its loss. */
export interface LeadershipTerm {
  readonly leadership: Leadership
  readonly since: string
  end(reason: Error): void
  /** Resolves when the lease is revoked or the attempt has failed. Pending until the term ends. */
  readonly isReleased: Promise<void>
}

/** One instance's part in one election. */
export interface Candidate {
  readonly deps: ElectionDeps
  readonly logger: Logger
  readonly instanceId: string
  readonly key: string
  /** Our own term while we lead. */
  term: LeadershipTerm | undefined
  /** Leader that was last observed. */
  leader: CurrentLeader | undefined
  isCampaigning: boolean
  /** Monotonic time until which we don't campaign after a resignation. */
  resignedUntilMs: number
  liveness: Promise<LivenessServer | undefined> | undefined
  /** Background releases. They end in bounded time and never reject. */
  readonly cleanups: Set<Promise<void>>
}

/** Calls of an election time out long before its lease. */
export const callTimeoutMs = ({ deps }: Candidate): number => Math.min(5_000, deps.leaseTtlMs / 4)

/** Shutdown waits for it, and has a deadline itself. */
const RELEASE_TIMEOUT_MS = 2_000

/** Revokes a lease, and with it the key attached to it. If that fails, the lease expires by itself. */
export function releaseLease(candidate: Candidate, lease: bigint): Promise<void> {
  const release = async () => {
    try {
      const client = await candidate.deps.connect()
      await client.revokeLease(lease, Math.min(RELEASE_TIMEOUT_MS, callTimeoutMs(candidate)))
    } catch (err) {
      candidate.logger.warn({ err }, 'lease could not be released; it expires by itself')
    }
  }
  const cleanup = release()
  candidate.cleanups.add(cleanup)
  return cleanup.finally(() => candidate.cleanups.delete(cleanup))
}

export async function ownRecord(candidate: Candidate): Promise<LeaderRecord> {
  const { clock, hostName } = candidate.deps
  const since = new Date(clock.now()).toISOString()
  const record = { instance_id: candidate.instanceId, host: hostName, since }
  const liveness = await candidate.liveness
  return liveness === undefined ? record : { ...record, liveness_address: liveness.address }
}
