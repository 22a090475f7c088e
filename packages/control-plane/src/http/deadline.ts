import { ProblemError } from '@lcm/contract/problems'
import type { Clock } from '@lcm/runtime/clock'

/** Whoever waits is told when it takes too long. What was begun may still come to its end. */
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
