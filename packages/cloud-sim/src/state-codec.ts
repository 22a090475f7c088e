import type { CmlIdentity } from './cml/certificate.ts'
import type { SimInstance } from './ec2/instance.ts'
import { type SimChange, type SimRecord, SimStoreError } from './sim-store.ts'

/** The launch of a client token, in the scope that its key names. */
export interface TokenUse {
  readonly fingerprint: string
  readonly instance_ids: readonly string[]
}

/** Never deleted, so that numbers and addresses are never reused. */
export interface StateRecord {
  readonly seed: number
  readonly launch_count: number
  readonly start_count: number
}

/** Changes of one call, committed together. */
export interface StateChangeSet {
  readonly instances?: readonly SimInstance[]
  readonly token?: { readonly key: string; readonly use: TokenUse }
  readonly identity?: { readonly instance_id: string; readonly identity: CmlIdentity }
  /**
   * Records of other kinds, visible in `SimState.stored`. A key that is an instance id, or begins with one and a slash,
   * is removed with its machine.
   */
  readonly records?: readonly SimChange[]
  /** Long, rarely read records: their values stay in the store, for `SimState.read`. */
  readonly shelved?: readonly SimChange[]
  /** Machines to notify as changed besides `instances`. */
  readonly touched?: readonly string[]
}

/** All stored state. Instances are in ascending order of their numbers. */
export interface StoredState {
  record: StateRecord
  readonly instances: Map<string, SimInstance>
  readonly tokens: Map<string, TokenUse>
  readonly identities: Map<string, CmlIdentity>
  /** JSON texts of other kinds, by kind and key. */
  readonly others: Map<string, Map<string, string>>
  /** Keys of shelved records, by kind. */
  readonly shelves: Map<string, Set<string>>
}

const OWN_KINDS: readonly string[] = ['world', 'instance', 'token', 'identity']
/** Kind of record that is not kept in memory. */
export const TELEMETRY = 'cml-telemetry'
const isShelved = ({ kind }: SimChange): boolean => kind === TELEMETRY

export function readState(records: readonly SimRecord[], seed: number): StoredState {
  const all = <Value>(kind: string, guard: (value: unknown) => value is Value): [string, Value][] =>
    records.filter(record => record.kind === kind).map(record => [record.key, parsed(record, guard)])
  const instances = all('instance', isInstance).sort(([, a], [, b]) => a.number - b.number)
  return {
    record: all('world', isStateRecord)[0]?.[1] ?? { seed, launch_count: 0, start_count: 0 },
    instances: new Map(instances),
    tokens: new Map(all('token', isTokenUse)),
    identities: new Map(all('identity', isIdentity)),
    others: othersOf(records.filter(record => !OWN_KINDS.includes(record.kind) && !isShelved(record))),
    shelves: shelvesOf(records.filter(isShelved)),
  }
}

function shelvesOf(records: readonly SimRecord[]): Map<string, Set<string>> {
  const shelves = new Map<string, Set<string>>()
  for (const record of records) putOnShelf(shelves, record)
  return shelves
}

export function putOnShelf(shelves: Map<string, Set<string>>, { kind, key, value }: SimChange): void {
  const shelf = shelves.get(kind) ?? new Set<string>()
  shelves.set(kind, shelf)
  if (value === null) shelf.delete(key)
  else shelf.add(key)
}

function othersOf(records: readonly SimRecord[]): Map<string, Map<string, string>> {
  const others = new Map<string, Map<string, string>>()
  for (const record of records) putOther(others, record)
  return others
}

export function putOther(others: Map<string, Map<string, string>>, { kind, key, value }: SimChange): void {
  if (value === null) return void others.get(kind)?.delete(key)
  const ofKind = others.get(kind) ?? new Map<string, string>()
  others.set(kind, ofKind.set(key, value))
}

type Removals = Required<Pick<StateChangeSet, 'records' | 'shelved'>>

/** Records that are removed with their machines. */
export function removalsOf({ others, shelves }: StoredState, machines: readonly SimInstance[]): Removals {
  const ids = new Set(machines.map(({ instance_id }) => instance_id))
  const gone = (all: ReadonlyMap<string, { keys(): Iterable<string> }>): SimChange[] =>
    ids.size === 0
      ? []
      : [...all].flatMap(([kind, ofKind]) =>
          [...ofKind.keys()]
            .filter(key => ids.has(key.split('/', 1)[0] ?? ''))
            .map(key => ({ kind, key, value: null })),
        )
  return { records: gone(others), shelved: gone(shelves) }
}

export const machineRemovals = (machines: readonly SimInstance[]): readonly SimChange[] =>
  machines.flatMap(({ instance_id: key }) => [
    { kind: 'instance', key, value: null },
    { kind: 'identity', key, value: null },
  ])

function parsed<Value>(record: SimRecord, guard: (value: unknown) => value is Value): Value {
  const value = jsonIn(record.value)
  if (guard(value)) return value
  throw new SimStoreError(`the stored ${record.kind} '${record.key}' is damaged`)
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

// The file's format number defines these; the guards only detect a file of another program.
const has = (value: unknown, ...keys: readonly string[]): boolean =>
  typeof value === 'object' && value !== null && keys.every(key => key in value)
const isStateRecord = (value: unknown): value is StateRecord => has(value, 'seed', 'launch_count', 'start_count')
const isInstance = (value: unknown): value is SimInstance => has(value, 'number', 'instance_id', 'timeline', 'boot')
const isTokenUse = (value: unknown): value is TokenUse => has(value, 'fingerprint', 'instance_ids')
const isIdentity = (value: unknown): value is CmlIdentity => has(value, 'certificate_pem', 'key_pem', 'sha256')

export function changesOf(change: StateChangeSet, record: StateRecord): readonly SimChange[] {
  const { instances = [], token, identity, records = [], shelved = [] } = change
  return [
    put('world', 'world', record),
    ...instances.map(instance => put('instance', instance.instance_id, instance)),
    ...(token ? [put('token', token.key, token.use)] : []),
    ...(identity ? [put('identity', identity.instance_id, identity.identity)] : []),
    ...records,
    ...shelved,
  ]
}

const put = (kind: string, key: string, value: object): SimChange => ({ kind, key, value: JSON.stringify(value) })
