import type { KeyState } from '../change-keys/key-state.ts'

/** What the key of an election holds, for people, standbys and the console. */
export interface LeaderRecord {
  readonly instance_id: string
  readonly host: string
  readonly since: string
  /** `host:port` of a socket that greets with the instance id for as long as the process lives. */
  readonly liveness_address?: string
}

/** Who holds a seat, and by which key. */
export interface Holder {
  readonly record: LeaderRecord
  /** The create revision of the key. */
  readonly epoch: number
  readonly lease: bigint
}

export const leaderKey = (prefix: string, service: string): string => `${prefix}/${service}/leader`

export const holderOf = ({ value, createRevision, lease }: KeyState): Holder => ({
  record: readRecord(value),
  epoch: createRevision,
  lease,
})

/** The seat is taken whatever the value says: one that cannot be read names nobody, and has no address to judge by. */
export function readRecord(value: string): LeaderRecord {
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
