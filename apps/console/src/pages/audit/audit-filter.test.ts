import { describe, expect, it } from 'vitest'
import type { Entry } from './audit-entries.ts'
import { actionText, auditHash, filterOf, matches, NO_FILTER } from './audit-filter.ts'
import { anEntry } from './testing/audit-entry-builder.ts'

describe('the filter', () => {
  const nameOf = () => 'metal-1'
  const has = (more: Partial<Entry>, filter: object) => matches(anEntry(1, more), { ...NO_FILTER, ...filter }, nameOf)

  it('finds text in actor, action, resource name, reason and changes', () => {
    const after = { desired_status: 'STOPPED' }
    for (const text of ['ADMIN', 'stop', 'w-1', 'metal', 'maintenance', 'desired_status', 'desired status stopped'])
      expect(has({ after, reason: 'maintenance' }, { text })).toBe(true)
    expect(has({ after }, { text: 'elephant' })).toBe(false)
  })

  it('separates users from policies and controllers', () => {
    const policy = { actor: { id: 'policy:scaling', name: 'scaling', role: 'policy' } }
    const house = { actor: { id: 'control-plane-api', name: 'control-plane-api', role: 'admin' } }
    expect([{}, policy, house].map(more => has(more, { who: 'people' }))).toEqual([true, false, false])
    expect([{}, policy, house].map(more => has(more, { who: 'system' }))).toEqual([false, true, true])
  })

  it('has an address', () => {
    const filter = { text: 'a b', who: 'people' as const, resource: 'worker:w-1' }
    const hash = auditHash(filter)
    expect(filterOf(Object.fromEntries(new URLSearchParams(hash.split('?')[1])))).toEqual(filter)
    expect(auditHash(NO_FILTER)).toBe('#/audit')
    expect(filterOf({ by: 'unknown' })).toEqual(NO_FILTER)
  })
})

describe('an entry', () => {
  it('formats it as text', () => {
    expect(actionText('scale_up_accepted')).toBe('scale up accepted')
    expect(actionText('cancel-drain')).toBe('cancel drain')
  })
})
