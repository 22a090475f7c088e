import type { Client } from '@lcm/client/client'
import { useComputed, useSignal, useSignalEffect } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { readFailureText } from '../state/error-text.ts'
import { useConsole } from './console-context.ts'

/** What was read on demand: the newest answer stays while the next one is awaited, or fails. */
export interface Read<T> {
  readonly value: T | null
  /** Why the newest attempt failed, while it has. */
  readonly error: string | null
  reload(): void
}

interface ReadOptions {
  /** Read again so often; never unless said. */
  readonly everyMs?: number
  /** Read again when there is news of this; see LiveState.news. */
  readonly updatesOf?: string
}

/**
 * Reads what no collection holds. It is read anew when `key` changes, on news, after so long, and when the connection comes
 * back. An answer that was overtaken by a later question is thrown away; but the time alone overtakes nothing, or what takes
 * longer than that would never be seen, and neither would its failure.
 */
export function useRead<T>(
  key: string,
  read: (client: Client, signal: AbortSignal) => Promise<T>,
  { everyMs, updatesOf: newsOf }: ReadOptions = {},
): Read<T> {
  const { client, state, nowMs } = useConsole()
  const held = useSignal<{ key: string; value: T | null; error: string | null }>({ key, value: null, error: null })
  const wish = useSignal(0)
  const newest = useRef(read)
  newest.current = read
  const turn = useComputed(() => (everyMs === undefined ? 0 : Math.floor(nowMs.value / everyMs)))
  const asked = useSignal(key)
  asked.value = key
  const isReading = useRef(false)
  useSignalEffect(() => {
    wish.value
    const current = asked.value
    if (newsOf !== undefined) state.updates.count(newsOf)
    if (state.connection.value.state === 'signed-out') return
    const asking = new AbortController()
    isReading.current = true
    newest.current(client, asking.signal).then(
      value => {
        if (asking.signal.aborted) return
        isReading.current = false
        held.value = { key: current, value, error: null }
      },
      error => {
        if (asking.signal.aborted) return
        isReading.current = false
        const kept = held.peek().key === current ? held.peek().value : null
        held.value = { key: current, value: kept, error: readFailureText(error) }
      },
    )
    return () => asking.abort()
  })
  useSignalEffect(() => {
    turn.value
    if (!isReading.current) wish.value = wish.peek() + 1
  })
  const { value, error } = held.value.key === key ? held.value : { value: null, error: null }
  return { value, error, reload: () => wish.value++ }
}
