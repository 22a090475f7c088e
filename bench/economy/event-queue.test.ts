import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventQueue } from './event-queue.ts'

describe('the event queue', () => {
  it('runs events by time, and those of one moment in the order in which they were added', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 20 })), times => {
        const queue = eventQueue()
        const ran: { ms: number; n: number }[] = []
        for (const [n, ms] of times.entries()) queue.at(ms, () => ran.push({ ms, n }))
        const half = queue.runUntil(10)
        expect(half).toBe(times.filter(ms => ms <= 10).length)
        expect(queue.nextMs()).toBe(Math.min(...times.filter(ms => ms > 10)))
        queue.runUntil(20)
        expect(ran).toEqual(times.map((ms, n) => ({ ms, n })).sort((a, b) => a.ms - b.ms || a.n - b.n))
        expect(queue.nextMs()).toBe(Number.POSITIVE_INFINITY)
      }),
    )
  })

  it('runs what an event adds for the same moment, and counts what is news', () => {
    const queue = eventQueue()
    const ran: string[] = []
    queue.at(1, () => {
      ran.push('first')
      queue.at(1, () => ran.push('second'))
    })
    queue.at(1, () => ran.push('quiet'), { isNews: false })
    expect(queue.runUntil(1)).toBe(2)
    expect(ran).toEqual(['first', 'quiet', 'second'])
  })
})
