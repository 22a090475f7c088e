import type { Clock } from '@lcm/runtime/clock'

export interface Bell {
  /** True when it rang, false when `ms` passed or the signal aborted first. */
  ring(ms: number): Promise<boolean>
  close(): void
}

/** Rings for what happened since it was last asked, so nothing slips in between reading and waiting. */
export function bell(
  listen: (wake: () => void) => () => void,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Bell {
  let pending = true
  let nap = new AbortController()
  const close = listen(() => {
    pending = true
    nap.abort()
  })
  return {
    close,
    async ring(ms) {
      if (!pending && !signal.aborted) {
        nap = new AbortController()
        const stop = () => nap.abort()
        signal.addEventListener('abort', stop)
        await clock.sleep(ms, nap.signal)
        signal.removeEventListener('abort', stop)
      }
      const rang = pending
      pending = false
      return rang
    },
  }
}
