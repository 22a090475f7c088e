import type { Election } from '@lcm/runtime'
import type { ChangeKeys } from '../change-keys.ts'
import { type LocalChangeKeys, localChangeKeys } from './change-keys.ts'
import { type LocalElectionOptions, type LocalElections, localElections } from './election.ts'

/**
 * Coordination inside one process; only used when configured, never as a fallback. All candidates share one instance.
 */
export interface LocalCoordination {
  election(service: string, instanceId: string): Election
  readonly changeKeys: ChangeKeys
  /** Fault injection for simulations. */
  readonly faults: LocalFaults
}

export type LocalFaults = Pick<LocalElections, 'loseLease' | 'crash'> &
  Pick<LocalChangeKeys, 'setDelivery' | 'breakStreams' | 'freezeStreams' | 'compact'>

export function localCoordination(options: Omit<LocalElectionOptions, 'onWrite'>): LocalCoordination {
  const { keys, bumpRevision, ...changeFaults } = localChangeKeys(options.clock)
  const { election, ...electionFaults } = localElections({ ...options, onWrite: bumpRevision })
  return { election, changeKeys: keys, faults: { ...changeFaults, ...electionFaults } }
}
