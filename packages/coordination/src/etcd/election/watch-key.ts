import { type Clock, isCompacted } from '@lcm/runtime'
import type { EtcdClient } from '../client/client.ts'
import type { KeyState } from '../client/key-state.ts'

export interface WatchKeyOptions {
  readonly client: EtcdClient
  readonly clock: Clock
  readonly key: string
  /** Changes up to this revision are known. */
  readonly afterRevision: number
  readonly signal: AbortSignal
  /** Called with every state of the key; null when it is missing. */
  onState(state: KeyState | null): void
}

const REOPEN_AFTER_MS = 250

/** Reports every change of one key, across reconnects, until `signal` aborts. */
export async function watchKey({ client, clock, key, onState, ...options }: WatchKeyOptions): Promise<void> {
  const { signal } = options
  let { afterRevision } = options
  while (!signal.aborted) {
    try {
      for await (const event of client.watch({ key, isPrefix: false }, afterRevision + 1, signal)) {
        if (event.kind === 'progress') afterRevision = event.revision
        if (event.kind !== 'changes') continue
        for (const change of event.changes) {
          afterRevision = change.revision
          onState(change.type === 'put' ? change.state : null)
        }
      }
    } catch (error) {
      if (isCompacted(error)) afterRevision = (await readState({ client, key, onState })) ?? afterRevision
      await clock.sleep(REOPEN_AFTER_MS, signal)
    }
  }
}

/** Current state and its revision; undefined when the read failed. */
async function readState({ client, key, onState }: Pick<WatchKeyOptions, 'client' | 'key' | 'onState'>) {
  try {
    const { state, revision } = await client.get(key)
    onState(state)
    return revision
  } catch {
    return undefined
  }
}
