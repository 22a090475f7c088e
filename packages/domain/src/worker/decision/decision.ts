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
  /** The license goes down with its machine: somebody has to know. Then `changes` are written. */
  | { readonly kind: 'record_leak'; readonly changes: WorkerChanges }
  /** Have its labs stopped, since CML keeps its license while they run. Who looks after labs does it; nobody waits for it. */
  | { readonly kind: 'stop_labs'; readonly afterMs: number }
  /** Have its CML visited, and what people did on it sent to where idleness is judged. Nobody waits for it. */
  | { readonly kind: 'survey' }

export interface Guard {
  readonly name: string
  readonly value: string | number | boolean
  readonly limit: string | number | boolean
  readonly passed: boolean
}

/** `because` is a sentence for a tired operator; `guards` are the numbers that it rests on. */
export interface Decision {
  readonly action: WorkerAction
  readonly because: string
  readonly guards: readonly Guard[]
}

export const nothing = (because: string): Decision => ({ action: { kind: 'nothing' }, because, guards: [] })
export const wait = (afterMs: number, because: string, guards: readonly Guard[] = []): Decision => ({
  action: { kind: 'wait', afterMs },
  because,
  guards,
})
export const retry = (because: string, changes: WorkerChanges | null = null): Decision => ({
  action: { kind: 'retry', changes },
  because,
  guards: [],
})
export const write = (changes: WorkerChanges, afterMs: number | null, because: string): Decision => ({
  action: { kind: 'write', changes, afterMs },
  because,
  guards: [],
})
/** Says what will be done; the next look, at once, does it. */
export const announce = (changes: WorkerChanges, because: string): Decision => write(changes, 0, because)
export const perform = (action: WorkerAction, because: string, guards: readonly Guard[] = []): Decision => ({
  action,
  because,
  guards,
})
