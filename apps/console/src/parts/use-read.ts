import type { Client } from '@lcm/client/client'
import { useComputed, useSignal, useSignalEffect } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { readFailureText } from '../state/failure-text.ts'
import { useConsole } from './console-context.ts'

/** A resource loaded on demand. The last value stays while a reload is in progress or fails. */
export interface Read<T> {
  readonly value: T | null
  /** Error of the last attempt; null after a success. */
  readonly error: string | null
  reload(): void
}

interface ReadOptions {
  /** Reload interval. Default: no periodic reload. */
  readonly everyMs?: number
  /** Reload when this topic is published; see LiveState.updates. */
  readonly updatesOf?: string
}

/**
 * Loads data that no collection holds. Reloads when `key` changes, on published updates, periodically, and when the connection
 * is restored. A newer request aborts the one in progress, but the timer never does: a response slower than the interval would
 * never arrive.
 */
export function useRead<T>(
  key: string,
  read: (client: Client, signal: AbortSignal) => Promise<T>,
  { everyMs, updatesOf: newsOf }: ReadOptions = {},
): Read<T> {
  const { client, state, nowMs } = useConsole()
  const held = useSignal<{ key: string; value: T | null; error: string | null }>({ key, value: null, error: null })
  const reloads = useSignal(0)
  const newest = useRef(read)
  newest.current = read
  const interval = useComputed(() => (everyMs === undefined ? 0 : Math.floor(nowMs.value / everyMs)))
  const currentKey = useSignal(key)
  currentKey.value = key
  const isReading = useRef(false)
  useSignalEffect(() => {
    reloads.value
    const current = currentKey.value
    if (newsOf !== undefined) state.updates.count(newsOf)
    if (state.connection.value.state === 'signed-out') return
    const request = new AbortController()
    isReading.current = true
    newest.current(client, request.signal).then(
      value => {
        if (request.signal.aborted) return
        isReading.current = false
        held.value = { key: current, value, error: null }
      },
      error => {
        if (request.signal.aborted) return
        isReading.current = false
        const kept = held.peek().key === current ? held.peek().value : null
        held.value = { key: current, value: kept, error: readFailureText(error) }
      },
    )
    return () => request.abort()
  })
  useSignalEffect(() => {
    interval.value
    if (!isReading.current) reloads.value = reloads.peek() + 1
  })
  const { value, error } = held.value.key === key ? held.value : { value: null, error: null }
  return { value, error, reload: () => reloads.value++ }
}
