import type { Clock } from '@lcm/runtime/clock'

export interface CommitSignal {
  /** True when it rang, false when `ms` passed or the signal aborted first. */
  wait(ms: number): Promise<boolean>
  close(): void
}

/** Rings for what happened since it was last asked, so nothing slips in between reading and waiting. */
export function commitSignal(
  listen: (wake: () => void) => () => void,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): CommitSignal {
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
    async wait(ms) {
      if (!pending && !signal.aborted) await nap(ms)
      const rang = pending
      pending = false
      return rang
    },
  }
}
