import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { withinDeadline } from './cloud-call.ts'

const never = () => new Promise<never>(() => undefined)

describe('a call with a deadline', () => {
  it('returns the response, or the failure, that arrived in time', async () => {
    const limits = { clock: manualClock(), deadlineMs: 10, signals: [] }
    expect(await withinDeadline(limits, async () => 7)).toBe(7)
    await expect(withinDeadline(limits, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  })

  it('ends at the deadline and aborts the call', async () => {
    const clock = manualClock()
    let callSignal: AbortSignal | undefined
    const waiting = withinDeadline({ clock, deadlineMs: 10, signals: [] }, signal => {
      callSignal = signal
      return never()
    })
    const ended = expect(waiting).rejects.toMatchObject({ name: 'GivenUp', late: true })
    await clock.advance(9)
    expect(callSignal?.aborted).toBe(false)
    await clock.advance(1)
    await ended
    expect(callSignal?.aborted).toBe(true)
  })

  it('ends when any of its signals aborts, and does not start after that', async () => {
    const [first, second] = [new AbortController(), new AbortController()]
    const limits = { clock: manualClock(), deadlineMs: 10, signals: [first.signal, second.signal] }
    const waiting = withinDeadline(limits, never)
    second.abort()
    await expect(waiting).rejects.toMatchObject({ name: 'GivenUp', late: false })
    let begun = false
    const late = withinDeadline(limits, async () => {
      begun = true
    })
    await expect(late).rejects.toMatchObject({ name: 'GivenUp' })
    expect(begun).toBe(false)
  })
})
