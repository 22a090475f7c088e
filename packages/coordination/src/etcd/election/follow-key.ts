import { type Clock, isCompacted } from '@lcm/runtime'
import type { KeyState } from '../change-keys/key-state.ts'
import type { EtcdClient } from '../client/client.ts'

export interface FollowKeyOptions {
  readonly client: EtcdClient
  readonly clock: Clock
  readonly key: string
  /** What was known at this revision needs no telling. */
  readonly afterRevision: number
  readonly signal: AbortSignal
  /** Called with every state that the key takes; null is its absence. */
  onState(state: KeyState | null): void
}

const REOPEN_AFTER_MS = 250

/** Tells what becomes of one key, whatever breaks in between, until `signal` aborts. */
export async function followKey({ client, clock, key, onState, ...options }: FollowKeyOptions): Promise<void> {
  const { signal } = options
  let { afterRevision } = options
  while (!signal.aborted) {
    try {
      for await (const sight of client.watch({ key, isPrefix: false }, afterRevision + 1, signal)) {
        if (sight.kind === 'progress') afterRevision = sight.revision
        if (sight.kind !== 'changes') continue
        for (const change of sight.changes) {
          afterRevision = change.revision
          onState(change.type === 'put' ? change.state : null)
        }
      }
    } catch (error) {
      if (isCompacted(error)) afterRevision = (await look({ client, key, onState })) ?? afterRevision
      await clock.sleep(REOPEN_AFTER_MS, signal)
    }
  }
}

/** How the key is now, and as of which revision; undefined when that could not be seen. */
async function look({ client, key, onState }: Pick<FollowKeyOptions, 'client' | 'key' | 'onState'>) {
  try {
    const { state, revision } = await client.get(key)
    onState(state)
    return revision
  } catch {
    return undefined
  }
}
