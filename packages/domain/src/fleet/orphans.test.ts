import { anInstance } from '@lcm/testkit/builders'
import { describe, expect, it } from 'vitest'
import { toInstant } from '../instant.ts'
import { allowedLosses, mayLose } from './brake.ts'
import { decideOrphan, type OrphanMemory } from './orphans.ts'

const NOW = Date.parse('2026-01-02T04:00:00Z')
const REPORT = { settings: { orphan_action: 'report' }, fleetSize: 10 } as const
const TERMINATE = { settings: { orphan_action: 'terminate' }, fleetSize: 10 } as const
const NEW: OrphanMemory = { markedAt: new Map(), terminations: [] }
const SEEN: OrphanMemory = { markedAt: new Map([['i-1', NOW - 300_000]]), terminations: [] }
const orphan = (more = {}) => ({ instance: anInstance(more), because: 'no record stands for it' })

describe('a machine of ours without a record', () => {
  it('is marked first, whatever is to be done with such', () => {
    expect(decideOrphan(orphan(), NEW, TERMINATE, NOW).action).toBe('mark')
  })

  it('is only reported unless somebody asked for more', () => {
    expect(decideOrphan(orphan(), SEEN, REPORT, NOW).action).toBe('report')
    expect(decideOrphan(orphan(), SEEN, TERMINATE, NOW).action).toBe('terminate')
  })

  it('is kept when it is young or marked to be kept', () => {
    expect(decideOrphan(orphan({ launched_at: toInstant(NOW - 60_000) }), SEEN, TERMINATE, NOW).action).toBe('hold')
    expect(decideOrphan(orphan({ tags: { 'lcm:keep': '' } }), SEEN, TERMINATE, NOW).action).toBe('report')
  })

  it('is not destroyed together with many others', () => {
    const two = { ...SEEN, terminations: [NOW - 2_000, NOW - 1_000] }
    const held = decideOrphan(orphan(), two, TERMINATE, NOW)
    expect(held).toMatchObject({ action: 'hold' })
    expect(held.because).toContain('no more than 2 of 10')
    const old = { ...SEEN, terminations: [NOW - 3_600_000, NOW - 1_000] }
    expect(decideOrphan(orphan(), old, TERMINATE, NOW).action).toBe('terminate')
  })
})

it('gives up a fifth of a fleet within an hour, and two of a small one', () => {
  expect([0, 5, 10, 11, 100].map(allowedLosses)).toEqual([2, 2, 2, 2, 20])
  expect(mayLose([], 1, NOW)).toBe(true)
})
