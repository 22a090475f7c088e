import type { CmlIdentity } from './cml/certificate.ts'
import { DEFAULT_CML_LOGIN } from './cml/server-state.ts'
import { hasFaded, type SimInstance } from './ec2/instance.ts'
import { type FaultInjector, faultInjector } from './faults/fault-injector.ts'
import type { PresetName } from './faults/fault-plan.ts'
import { type Addressing, addressNumber } from './machine-addresses.ts'
import { type RegionIndex, regionIndex } from './machines-by-region.ts'
import { type SeededRandom, seededRandom } from './seeded-random.ts'
import type { SimStore } from './sim-store.ts'
import {
  changesOf,
  machineRemovals,
  putOnShelf,
  putOther,
  readState,
  removalsOf,
  type StateChangeSet,
  type StoredState,
  type TokenUse,
} from './state-codec.ts'

/** State that all adapters share. Reads are free; changes go through `commit`. */
export interface SimState {
  readonly seed: number
  readonly speed: number
  readonly licensesOwned: number
  readonly adminPassword: string
  readonly chance: SeededRandom
  now(): number
  addressing: Addressing
  launchCount(): number
  /** The address of the n-th start from now, counting from 0. */
  addressAhead(n: number): number
  /** In ascending order of their numbers. */
  readonly instances: ReadonlyMap<string, SimInstance>
  /** In the same order. */
  instancesIn(region: string): readonly SimInstance[]
  /** Never deleted: EC2 promises a day after termination and names no end. */
  readonly tokens: ReadonlyMap<string, TokenUse>
  readonly identities: ReadonlyMap<string, CmlIdentity>
  /** JSON texts of other record kinds by key, from `records` of commits. */
  stored(kind: string): ReadonlyMap<string, string>
  /** Keys of records that commits have shelved. */
  shelf(kind: string): ReadonlySet<string>
  /** JSON text of a shelved record, read from the store; null if missing. */
  read(kind: string, key: string): string | null
  readonly faults: FaultInjector
  /** Durable when it returns; if it throws, nothing has changed. */
  commit(change: StateChangeSet): void
  /** Calls the listener with the id of every changed machine, once the change is durable. */
  watch(listener: (instanceId: string) => void): () => void
}

export interface SimStateOptions {
  readonly seed: number
  readonly speed: number
  readonly now: () => number
  readonly store: SimStore
  /** The fault plan until it is changed. */
  readonly preset: PresetName
  /** Number of licenses that the Smart Account owns. */
  readonly licensesOwned?: number
  /** Initial admin password of CML servers. */
  readonly adminPassword?: string
}

export function openSimState(options: SimStateOptions): SimState {
  const { now, speed, store } = options
  const stored = readState(store.load(), options.seed)
  const chance = seededRandom(stored.record.seed)
  const index = regionIndex(stored.instances.values())
  const listeners = new Set<(instanceId: string) => void>()
  const keeping = {
    chance,
    now,
    stored: (kind: string) => stored.others.get(kind) ?? NOTHING_STORED,
    commit(change: StateChangeSet) {
      commitTo(store, { stored, index }, { change, nowMs: now() })
      const changed = [...(change.instances ?? []).map(instance => instance.instance_id), ...(change.touched ?? [])]
      for (const instanceId of changed) for (const listener of listeners) listener(instanceId)
    },
  }
  return {
    ...keeping,
    seed: stored.record.seed,
    speed,
    licensesOwned: options.licensesOwned ?? Number.POSITIVE_INFINITY,
    adminPassword: options.adminPassword ?? DEFAULT_CML_LOGIN.password,
    addressing: 'range',
    launchCount: () => stored.record.launch_count,
    addressAhead: n => addressNumber(chance.fraction('address'), stored.record.start_count + n),
    instances: stored.instances,
    instancesIn: index.in,
    shelf: kind => stored.shelves.get(kind) ?? NOTHING_SHELVED,
    read: (kind, key) => (stored.shelves.get(kind)?.has(key) ? store.read(kind, key) : null),
    tokens: stored.tokens,
    identities: stored.identities,
    faults: faultInjector(keeping, options.preset),
    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

const NOTHING_STORED: ReadonlyMap<string, string> = new Map()
const NOTHING_SHELVED: ReadonlySet<string> = new Set()

interface Kept {
  readonly stored: StoredState
  readonly index: RegionIndex
}

/** Machines that are no longer shown are removed with the next launch, so the state doesn't grow over time. */
function commitTo(store: SimStore, { stored, index }: Kept, act: { change: StateChangeSet; nowMs: number }): void {
  const { instances = [], token, identity, records = [], shelved = [] } = act.change
  const launches = instances.filter(instance => !stored.instances.has(instance.instance_id)).length
  const faded = launches > 0 ? [...stored.instances.values()].filter(instance => hasFaded(instance, act.nowMs)) : []
  const record = {
    seed: stored.record.seed,
    launch_count: stored.record.launch_count + launches,
    start_count: stored.record.start_count + instances.filter(instance => isStart(stored, instance)).length,
  }
  const removals = removalsOf(stored, faded)
  store.commit([...changesOf(act.change, record), ...machineRemovals(faded), ...removals.records, ...removals.shelved])
  stored.record = record
  for (const other of [...removals.records, ...records]) putOther(stored.others, other)
  for (const each of [...removals.shelved, ...shelved]) putOnShelf(stored.shelves, each)
  for (const instance of faded) {
    stored.instances.delete(instance.instance_id)
    stored.identities.delete(instance.instance_id)
    index.remove(instance)
  }
  for (const instance of instances) {
    stored.instances.set(instance.instance_id, instance)
    index.put(instance)
  }
  if (token) stored.tokens.set(token.key, token.use)
  if (identity) stored.identities.set(identity.instance_id, identity.identity)
}

const isStart = (stored: StoredState, instance: SimInstance) =>
  instance.start_count !== stored.instances.get(instance.instance_id)?.start_count
