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
  let wake = (): void => undefined
  const close = listen(() => {
    pending = true
    wake()
  })
  const nap = (ms: number) =>
    new Promise<void>(resolve => {
      wake = () => {
        cancel()
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const cancel = clock.after(ms, wake)
      signal.addEventListener('abort', wake)
    })
  return {
    close,
    async ring(ms) {
      if (!pending && !signal.aborted) await nap(ms)
      const rang = pending
      pending = false
      return rang
    },
  }
}
