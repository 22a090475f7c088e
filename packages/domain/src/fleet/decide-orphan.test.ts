import { anInstance } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant } from '../instant.ts'
import { reason } from '../reason.ts'
import { decideOrphan, type OrphanMemory, permitOrphan } from './decide-orphan.ts'
import { allowedLosses, mayLose } from './machine-loss-limit.ts'

const NOW = Date.parse('2026-01-02T04:00:00Z')
const REPORT = { orphan_action: 'report' } as const
const TERMINATE = { orphan_action: 'terminate' } as const
const NEW: OrphanMemory = { markedAt: new Map() }
const SEEN: OrphanMemory = { markedAt: new Map([['i-1', NOW - 300_000]]) }
const agoMs = (ms: number) => toInstant(NOW - ms)
const CAUSE = reason('worker_unknown', { worker_id: 'w-1' })
const orphan = (more = {}) => ({ instance: anInstance(more), because: CAUSE })

describe('a machine of this fleet without a record', () => {
  it('is marked first, whatever the action for orphans', () => {
    expect(decideOrphan(orphan(), NEW, TERMINATE, NOW)).toMatchObject({
      action: 'mark',
      because: { code: 'orphan_found', params: { cause: CAUSE } },
    })
  })

  it('is only reported unless the settings ask for more', () => {
    expect(decideOrphan(orphan(), SEEN, REPORT, NOW)).toMatchObject({
      action: 'report',
      because: { code: 'orphan_reported', params: { cause: CAUSE } },
    })
    expect(decideOrphan(orphan(), SEEN, TERMINATE, NOW)).toEqual({ action: 'terminate', because: CAUSE })
  })

  it('is kept when it is young or has the keep tag', () => {
    expect(decideOrphan(orphan({ launched_at: toInstant(NOW - 60_000) }), SEEN, TERMINATE, NOW)).toMatchObject({
      action: 'hold',
      because: { code: 'orphan_too_young', params: { cause: CAUSE, seconds: 600 } },
    })
    expect(decideOrphan(orphan({ tags: { 'lcm:keep': '' } }), SEEN, TERMINATE, NOW)).toMatchObject({
      action: 'report',
      because: { code: 'orphan_kept', params: { cause: CAUSE, tag: 'lcm:keep' } },
    })
  })
})

describe('a permit to terminate one', () => {
  const permit = (orphan_terminations: Readonly<Record<string, string>>, more: { held_since?: string } = {}) =>
    permitOrphan('i-1', { orphan_terminations, held_since: null, ...more }, 10, toInstant(NOW))

  it('is granted while few were terminated within the hour, and remembered', () => {
    expect(permit({ 'i-2': agoMs(1_000) })).toMatchObject({
      granted: true,
      because: { code: 'orphan_permit_granted' },
      terminations: { 'i-1': toInstant(NOW), 'i-2': agoMs(1_000) },
    })
  })

  it('is refused after many terminations, and granted an hour later', () => {
    const refused = permit({ 'i-2': agoMs(2_000), 'i-3': agoMs(1_000) })
    expect(refused.granted).toBe(false)
    expect(refused.because).toMatchObject({ code: 'orphan_limit_reached', params: { limit: 2, machines: 10 } })
    expect(Object.keys(refused.terminations)).toEqual(['i-2', 'i-3'])
    const later = permit({ 'i-2': agoMs(3_600_000), 'i-3': agoMs(1_000) })
    expect([later.granted, Object.keys(later.terminations)]).toEqual([true, ['i-3', 'i-1']])
  })

  it('is granted again for the same machine, and counts once', () => {
    const both = { 'i-1': agoMs(2_000), 'i-2': agoMs(1_000) }
    expect(permit(both)).toMatchObject({ granted: true, terminations: both })
  })

  it('is refused while the fleet is held: the store may be out of date', () => {
    expect(permit({}, { held_since: agoMs(1_000) })).toMatchObject({ granted: false, because: { code: 'fleet_held' } })
  })
})

it('allows a fifth of a fleet within an hour, and two of a small one', () => {
  expect([0, 5, 10, 11, 100].map(allowedLosses)).toEqual([2, 2, 2, 2, 20])
  expect(mayLose([], 1, NOW)).toBe(true)
})
