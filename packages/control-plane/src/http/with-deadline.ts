import { ProblemError } from '@lcm/contract/problems'
import type { Clock } from '@lcm/runtime/clock'

/** Rejects after `ms`. The work itself continues. */
export async function withDeadline<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  let cancel = (): void => undefined
  const late = new Promise<never>((_, reject) => {
    const refuse = () => reject(new ProblemError('deadline_exceeded', `no answer within ${ms / 1000} s`))
    cancel = clock.after(ms, refuse)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    cancel()
  }
}
