import { type Addressing, addressNumber } from './addresses.ts'
import { type Chance, chanceOf } from './chance.ts'
import type { CmlIdentity } from './cml/certificate.ts'
import { hasFaded, type SimInstance } from './ec2/instance.ts'
import { changesOf, readWorld, removalsOf, type StoredWorld, type TokenUse, type WorldChange } from './records.ts'
import type { SimStore } from './store.ts'

/** The one state behind every face. Reading is free; changing goes through `commit`. */
export interface World {
  readonly seed: number
  readonly speed: number
  readonly chance: Chance
  now(): number
  addressing: Addressing
  launchCount(): number
  /** The address of the n-th start from now, counting from 0. */
  addressAhead(n: number): number
  /** In ascending order of their numbers. */
  readonly instances: ReadonlyMap<string, SimInstance>
  /** Kept for good: EC2 promises a day after termination and names no end. */
  readonly tokens: ReadonlyMap<string, TokenUse>
  readonly identities: ReadonlyMap<string, CmlIdentity>
  /** Durable when it returns; if it throws, nothing has changed. */
  commit(change: WorldChange): void
  /** Calls back with the id of every machine that an act has changed, once that is durable. */
  watch(listener: (instanceId: string) => void): () => void
}

export interface WorldOptions {
  readonly seed: number
  readonly speed: number
  readonly now: () => number
  readonly store: SimStore
}

export function openWorld(options: WorldOptions): World {
  const { now, speed, store } = options
  const stored = readWorld(store.load(), options.seed)
  const chance = chanceOf(stored.record.seed)
  const listeners = new Set<(instanceId: string) => void>()
  return {
    seed: stored.record.seed,
    speed,
    chance,
    now,
    addressing: 'range',
    launchCount: () => stored.record.launch_count,
    addressAhead: n => addressNumber(chance.fraction('address'), stored.record.start_count + n),
    instances: stored.instances,
    tokens: stored.tokens,
    identities: stored.identities,
    commit(change) {
      commitTo(store, stored, { change, nowMs: now() })
      for (const { instance_id } of change.instances ?? []) for (const listener of listeners) listener(instance_id)
    },
    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Machines that have faded leave with the next launch, so the world doesn't grow with its age. */
function commitTo(store: SimStore, stored: StoredWorld, act: { change: WorldChange; nowMs: number }): void {
  const { instances = [], token, identity } = act.change
  const launches = instances.filter(instance => !stored.instances.has(instance.instance_id)).length
  const faded = launches > 0 ? [...stored.instances.values()].filter(instance => hasFaded(instance, act.nowMs)) : []
  const record = {
    seed: stored.record.seed,
    launch_count: stored.record.launch_count + launches,
    start_count: stored.record.start_count + instances.filter(instance => isStart(stored, instance)).length,
  }
  store.commit([...changesOf(act.change, record), ...faded.flatMap(instance => removalsOf(instance.instance_id))])
  stored.record = record
  for (const { instance_id } of faded) {
    stored.instances.delete(instance_id)
    stored.identities.delete(instance_id)
  }
  for (const instance of instances) stored.instances.set(instance.instance_id, instance)
  if (token) stored.tokens.set(token.key, token.use)
  if (identity) stored.identities.set(identity.instance_id, identity.identity)
}

const isStart = (stored: StoredWorld, instance: SimInstance) =>
  instance.start_count !== stored.instances.get(instance.instance_id)?.start_count
