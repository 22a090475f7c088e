import type { KeyState } from '../client/key-state.ts'

/** Value of the leader key, for people, standbys and the console. */
export interface LeaderRecord {
  readonly instance_id: string
  readonly host: string
  readonly since: string
  /** `host:port` of a socket that sends the instance id for as long as the process lives. */
  readonly liveness_address?: string
}

/** Leader as recorded in its key. */
export interface CurrentLeader {
  readonly record: LeaderRecord
  /** Create revision of the key. */
  readonly epoch: number
  readonly lease: bigint
}

export const leaderKey = (prefix: string, service: string): string => `${prefix}/${service}/leader`

export const leaderOf = ({ value, createRevision, lease }: KeyState): CurrentLeader => ({
  record: parseLeaderRecord(value),
  epoch: createRevision,
  lease,
})

/** Any value means that there is a leader: an unreadable one has no name and no liveness address. */
export function parseLeaderRecord(value: string): LeaderRecord {
  const fields = parsed(value)
  const text = (name: string) => (typeof fields[name] === 'string' ? fields[name] : '')
  const record = { instance_id: text('instance_id'), host: text('host'), since: text('since') }
  const address = text('liveness_address')
  return address === '' ? record : { ...record, liveness_address: address }
}

function parsed(value: string): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(value)
    return typeof json === 'object' && json !== null ? { ...json } : {}
  } catch {
    return {}
  }
}
