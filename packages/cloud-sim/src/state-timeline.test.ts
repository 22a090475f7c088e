import { describe, expect, it } from 'vitest'
import { entryAt, nextChangeMs, replan } from './state-timeline.ts'

const LINE = [
  { name: 'a', from_ms: 10 },
  { name: 'b', from_ms: 20 },
  { name: 'c', from_ms: 30 },
]

describe('a timeline', () => {
  it('returns the last moment that began, and the first one before that', () => {
    expect([0, 10, 19, 20, 99].map(at => entryAt(LINE, at).name)).toEqual(['a', 'a', 'a', 'b', 'c'])
  })

  it('returns when it changes next', () => {
    expect([0, 10, 25, 30].map(after => nextChangeMs(LINE, after))).toEqual([10, 20, 30, null])
  })

  it('drops planned moments when something else happens, and keeps a bounded past', () => {
    expect(replan(LINE, 20, [{ name: 'x', from_ms: 20 }]).map(moment => moment.name)).toEqual(['a', 'b', 'x'])
    const long = Array.from({ length: 50 }, (_, n) => ({ name: String(n), from_ms: n }))
    expect(replan(long, 50, []).length).toBeLessThan(10)
  })
})
