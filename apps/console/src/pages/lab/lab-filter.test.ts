import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { aLabRecord } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { filterOf, inOrder, isFiltering, labsHash, matches, NO_FILTER } from './lab-filter.ts'

/** A running lab without a session. */
const aLab = (changes: Partial<LabRecord> = {}) =>
  aLabRecord({ title: 'two routers', owner: 'ann', lab_id: 'b3f5', source: 'DISCOVERY', ...changes })

const PENDING = { action: 'stop', by: 'ann', at: '2026-01-02T03:04:05.000Z', attempts: 0, error: null } as const

describe('labs', () => {
  it('are found by title, id, owner and worker', () => {
    const found = (text: string) => matches(aLab(), { ...NO_FILTER, text }, 'metal-1')
    expect(['ROUters', 'lr-1', 'b3f5', 'ann', 'metal'].map(found)).toEqual([true, true, true, true, true])
    expect(found('bob')).toBe(false)
  })

  it('are narrowed by status, worker and whether a session has them', () => {
    const is = (changes: object) => matches(aLab({ session_id: 'ls-1' }), { ...NO_FILTER, ...changes }, '')
    expect([is({ statuses: ['BOOTED'] }), is({ statuses: ['WIPED'] })]).toEqual([true, false])
    expect([is({ workerId: 'w-1' }), is({ workerId: 'w-2' })]).toEqual([true, false])
    expect([is({ isBound: true }), is({ isBound: false })]).toEqual([true, false])
  })

  it('are hidden when deleted, unless selected', () => {
    const deleted = aLab({ status: 'DELETED' })
    expect(matches(deleted, NO_FILTER, '')).toBe(false)
    expect(matches(deleted, { ...NO_FILTER, statuses: ['DELETED'] }, '')).toBe(true)
  })

  it('are sorted by problems, then pending actions, then title', () => {
    const labs = [
      aLab({ id: 'c', title: 'b' }),
      aLab({ id: 'd', title: 'a' }),
      aLab({ id: 'b', title: 'z', pending_action: PENDING }),
      aLab({ id: 'a', title: 'z', pending_action: { ...PENDING, error: 'no' } }),
    ]
    expect(inOrder(labs).map(({ id }) => id)).toEqual(['a', 'b', 'd', 'c'])
  })

  it('keep the filter in the address', () => {
    const hash = labsHash({ text: 'x', statuses: ['BOOTED', 'ERROR'], workerId: 'w-1', isBound: false })
    expect(hash).toBe('#/labs?q=x&status=BOOTED%2CERROR&worker=w-1&bound=no')
    expect(filterOf({ q: 'x', status: 'BOOTED,ERROR,no', worker: 'w-1', bound: 'no' })).toEqual({
      text: 'x',
      statuses: ['BOOTED', 'ERROR'],
      workerId: 'w-1',
      isBound: false,
    })
    expect(filterOf({})).toEqual(NO_FILTER)
  })
})

it('knows whether anything is filtered at all', () => {
  expect([NO_FILTER, { ...NO_FILTER, isBound: false }].map(isFiltering)).toEqual([false, true])
})
