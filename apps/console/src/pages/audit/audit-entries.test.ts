import { describe, expect, it } from 'vitest'
import { type Entry, withNewest, withOlder } from './audit-entries.ts'
import { anEntry } from './testing/audit-entry-builder.ts'

const page = (next_cursor: string | null, ...ns: number[]) => ({ items: ns.map(n => anEntry(n)), next_cursor })
const ids = ({ entries }: { entries: readonly Entry[] }) => entries.map(({ id }) => id)

describe('held entries', () => {
  const newest = withNewest({ entries: [], cursor: null }, page('c4', 5, 4))
  const held = withOlder(newest, 'c4', page('c2', 3, 2))

  it('grow at the end by older pages', () => {
    expect([ids(held), held.cursor]).toEqual([['e-5', 'e-4', 'e-3', 'e-2'], 'c2'])
  })

  it('grow at the top and keep the cursor of older entries', () => {
    const next = withNewest(held, page('c5', 6, 5))
    expect([ids(next), next.cursor]).toEqual([['e-6', 'e-5', 'e-4', 'e-3', 'e-2'], 'c2'])
  })

  it('stay identical while nothing is new, so that nothing renders', () => {
    expect(withNewest(held, page('c4', 5, 4))).toBe(held)
  })

  it('drop older entries rather than hide a gap', () => {
    const next = withNewest(held, page('c8', 9, 8))
    expect([ids(next), next.cursor]).toEqual([['e-9', 'e-8'], 'c8'])
  })

  it('ignore an older page requested before entries were dropped', () => {
    const next = withNewest(held, page('c8', 9, 8))
    expect(withOlder(next, 'c2', page('c0', 1, 0))).toBe(next)
  })

  it('insert late entries in order', () => {
    expect(ids(withNewest(withNewest({ entries: [], cursor: null }, page('c', 5, 3)), page('c', 5, 4, 3)))).toEqual([
      'e-5',
      'e-4',
      'e-3',
    ])
  })
})
