import type { Reason } from '../../reason.ts'
import type { LaunchParameters } from '../instance.ts'
import type { WorkerChanges } from '../worker.ts'

/**
 * What to do with a worker now. Only `launch`, `start`, `stop`, `terminate`, `tag` and the two of the license change something out
 * there, and each of them is taken only in a state that an earlier write announced; for `tag` that is the worker's new name.
 */
export type WorkerAction =
  /** At rest: nothing to do and nothing to wait for. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'wait'; readonly afterMs: number }
  /** The cloud could not be read: look again after a backoff that grows. `changes`, if any, are written first. */
  | { readonly kind: 'retry'; readonly changes: WorkerChanges | null }
  /** `afterMs: 0` announces: the very next look acts on it. Null means at rest afterwards. */
  | { readonly kind: 'write'; readonly changes: WorkerChanges; readonly afterMs: number | null }
  | { readonly kind: 'open_attempt'; readonly n: number; readonly parameters: LaunchParameters }
  | { readonly kind: 'launch' }
  | { readonly kind: 'start' }
  | { readonly kind: 'stop'; readonly force: boolean }
  | { readonly kind: 'terminate' }
  /** Sets these tags of its machine. Looked at again after `afterMs`, whether or not EC2 took them. */
  | { readonly kind: 'tag'; readonly tags: Readonly<Record<string, string>>; readonly afterMs: number }
  | { readonly kind: 'register_license' }
  | { readonly kind: 'deregister_license' }
  /** The license is lost with its instance: it is recorded as leaked. Then `changes` are written. */
  | { readonly kind: 'record_leak'; readonly changes: WorkerChanges }
  /** Requests to stop its labs, since CML keeps its license while they run. The lablet-controller does it asynchronously. */
  | { readonly kind: 'stop_labs'; readonly afterMs: number }
  /** Reads the activity in its CML and sends it to the idle check, asynchronously. */
  | { readonly kind: 'survey' }

export interface Guard {
  readonly name: string
  readonly value: string | number | boolean
  readonly limit: string | number | boolean
  readonly passed: boolean
}

/** `guards` are the numbers that the decision rests on. */
export interface Decision {
  readonly action: WorkerAction
  readonly because: Reason
  readonly guards: readonly Guard[]
}

export const nothing = (because: Reason): Decision => ({ action: { kind: 'nothing' }, because, guards: [] })
export const wait = (afterMs: number, because: Reason, guards: readonly Guard[] = []): Decision => ({
  action: { kind: 'wait', afterMs },
  because,
  guards,
})
export const retry = (because: Reason, changes: WorkerChanges | null = null): Decision => ({
  action: { kind: 'retry', changes },
  because,
  guards: [],
})
export const write = (changes: WorkerChanges, afterMs: number | null, because: Reason): Decision => ({
  action: { kind: 'write', changes, afterMs },
  because,
  guards: [],
})
/** Writes what will be done; the next look follows at once and does it. */
export const announce = (changes: WorkerChanges, because: Reason): Decision => write(changes, 0, because)
export const perform = (action: WorkerAction, because: Reason, guards: readonly Guard[] = []): Decision => ({
  action,
  because,
  guards,
})
