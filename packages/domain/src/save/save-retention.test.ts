import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toInstant } from '../instant.ts'
import { type RetainedSave, type Retention, savesToRemove } from './save-retention.ts'

const DAY_MS = 86_400_000
const NOW_MS = Date.parse('2026-06-01T00:00:00.000Z')
const RULES = { saves_kept: 3, save_retention_days: 30 }

const aSave = (number: number, endedDaysAgo: number | null = null): RetainedSave => ({
  id: `sv-${number}`,
  number,
  session_ended_at: endedDaysAgo === null ? null : toInstant(NOW_MS - endedDaysAgo * DAY_MS),
})
const going = (saves: readonly RetainedSave[], needed: readonly string[] = [], rules = RULES) => {
  const isNeeded = (id: string) => needed.includes(id)
  const retention: Retention = { rules, isNeeded, isPassedOver: () => false, nowMs: NOW_MS }
  return savesToRemove(saves, retention).map(({ id }) => id)
}

describe('saves of an open session', () => {
  it('are its newest ones', () => {
    expect(going([1, 2, 3].map(n => aSave(n)))).toEqual([])
    expect(going([4, 1, 5, 3, 2].map(n => aSave(n)))).toEqual(['sv-2', 'sv-1'])
    expect(
      going(
        [1, 2].map(n => aSave(n)),
        [],
        { ...RULES, saves_kept: 1 },
      ),
    ).toEqual(['sv-1'])
  })

  it('stay as long as an open session needs them', () => {
    expect(
      going(
        [1, 2, 3, 4, 5].map(n => aSave(n)),
        ['sv-1'],
      ),
    ).toEqual(['sv-2'])
  })
})

describe('saves of an ended session', () => {
  it.each([
    [0, ['sv-1']],
    [29.9, ['sv-1']],
    [30, ['sv-2', 'sv-1']],
    [300, ['sv-2', 'sv-1']],
  ])('%s days after its end: %j go', (days, expected) => {
    expect(going([aSave(1, days), aSave(2, days)])).toEqual(expected)
  })

  it('stay as long as an open session needs them', () => {
    expect(going([aSave(1, 99), aSave(2, 99)], ['sv-1'])).toEqual(['sv-2'])
    expect(going([aSave(1, 1), aSave(2, 1)], ['sv-1'])).toEqual([])
  })
})

/** Saves of one session: all of them are open, or all ended at the same time. */
const saves = fc
  .record({
    numbers: fc.uniqueArray(fc.integer({ min: 1, max: 200 }), { maxLength: 12 }),
    endedDaysAgo: fc.option(fc.double({ min: 0, max: 90, noNaN: true })),
  })
  .map(({ numbers, endedDaysAgo }) => numbers.map(number => aSave(number, endedDaysAgo)))
const rules = fc.record({
  saves_kept: fc.integer({ min: 1, max: 10 }),
  save_retention_days: fc.integer({ min: 1, max: 60 }),
})

it('never removes a needed save, the newest of an open session, or the final one before its time', () => {
  fc.assert(
    fc.property(saves, rules, fc.array(fc.integer({ min: 1, max: 200 })), (given, given_rules, needed) => {
      const removed = new Set(
        going(
          given,
          needed.map(n => `sv-${n}`),
          given_rules,
        ),
      )
      for (const number of needed) expect(removed.has(`sv-${number}`)).toBe(false)
      const newest = given.toSorted((a, b) => b.number - a.number)
      const [first] = newest
      if (first === undefined) return
      const isOpen = first.session_ended_at === null
      const due = isOpen || NOW_MS < Date.parse(first.session_ended_at ?? '') + given_rules.save_retention_days * DAY_MS
      if (due) expect(removed.has(first.id)).toBe(false)
      const kept = newest.filter(({ id }) => !removed.has(id) && !needed.some(n => `sv-${n}` === id))
      expect(kept.length).toBeLessThanOrEqual(isOpen ? given_rules.saves_kept : due ? 1 : 0)
      // Removed saves are older than all that the rules keep, and a second round finds nothing.
      for (const { number } of kept)
        for (const { id, number: other } of newest) if (removed.has(id)) expect(other).toBeLessThan(number)
      const left = given.filter(({ id }) => !removed.has(id))
      expect(
        going(
          left,
          needed.map(n => `sv-${n}`),
          given_rules,
        ),
      ).toEqual([])
    }),
  )
})
