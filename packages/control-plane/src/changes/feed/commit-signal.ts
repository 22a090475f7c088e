import type { Clock } from '@lcm/runtime/clock'

export interface CommitSignal {
  /** True after a commit; false after `ms` or an abort. */
  wait(ms: number): Promise<boolean>
  close(): void
}

/** Remembers commits since the last wait, so none is lost between reading and waiting. */
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
  const sleep = (ms: number) =>
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
      if (!pending && !signal.aborted) await sleep(ms)
      const hasCommit = pending
      pending = false
      return hasCommit
    },
  }
}
