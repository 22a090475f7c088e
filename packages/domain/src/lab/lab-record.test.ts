import { aLabRecord } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import {
  isGone,
  isQuiet,
  LAB_STATUSES,
  type LabAction,
  LabRecord,
  type LabScan,
  type LabStatus,
  statusOfLab,
  statusOfMissing,
} from './lab-record.ts'

const cases: readonly [string, LabStatus | null, LabStatus][] = [
  ['DEFINED_ON_CORE', null, 'DEFINED'],
  ['DEFINED_ON_CORE', 'STOPPED', 'DEFINED'],
  ['DEFINED_ON_CORE', 'STOPPING', 'DEFINED'],
  ['DEFINED_ON_CORE', 'DELETING', 'DELETING'],
  ['DEFINED_ON_CORE', 'ORPHANED', 'DEFINED'],
  ['DEFINED_ON_CORE', 'ERROR', 'DEFINED'],
  ['STOPPED', null, 'STOPPED'],
  ['STOPPED', 'BOOTED', 'STOPPED'],
  ['STOPPED', 'STOPPING', 'STOPPED'],
  ['STOPPED', 'WIPED', 'STOPPED'],
  ['STOPPED', 'DELETING', 'DELETING'],
  ['STOPPED', 'ERROR', 'STOPPED'],
  ['STARTED', null, 'BOOTED'],
  ['STARTED', 'STARTING', 'STARTING'],
  ['STARTED', 'STOPPING', 'STOPPING'],
  ['STARTED', 'DELETING', 'DELETING'],
  ['STARTED', 'WIPED', 'BOOTED'],
  ['STARTED', 'ORPHANED', 'BOOTED'],
  ['STARTED', 'ERROR', 'ERROR'],
  ['QUEUED', 'STARTING', 'STARTING'],
  ['BOOTED', 'STARTING', 'BOOTED'],
  ['BOOTED', 'STOPPING', 'STOPPING'],
  ['SOMETHING_NEW', null, 'DEFINED'],
  ['SOMETHING_NEW', 'BOOTED', 'BOOTED'],
]
it.each(cases)('reads CML’s %s, after %s, as %s', (raw, before, status) => {
  expect(statusOfLab(raw, before)).toBe(status)
})

it('D-22: a wiped lab stays WIPED, although CML reports the same state as for a lab that never ran', () => {
  expect(statusOfLab('DEFINED_ON_CORE', 'WIPED')).toBe('WIPED')
})

it('isQuiet is true for labs that use no capacity', () => {
  expect(LAB_STATUSES.filter(isQuiet)).toEqual(['DEFINED', 'STOPPED', 'WIPED', 'DELETED', 'ORPHANED'])
  expect(LAB_STATUSES.filter(isGone)).toEqual(['DELETED'])
})

it('a new record is accepted by its own schema', () => {
  expect(LabRecord.parse(aLabRecord())).toEqual(aLabRecord())
})

describe('D-23: a scan', () => {
  const record = aLabRecord({ last_seen_at: '2026-01-02T03:00:00.000Z' })
  const scan: LabScan = { began_at: '2026-01-02T04:00:00.000Z', is_complete: true, isSeen: false, isAwaited: false }

  it.each<[string, Partial<LabRecord>, 'DELETED' | 'ORPHANED']>([
    ['without a requested deletion', {}, 'ORPHANED'],
    ['that was never imported and is not about to be', { lab_id: null }, 'ORPHANED'],
    ['whose deletion was in progress', { status: 'DELETING' }, 'DELETED'],
    ['with a pending deletion', { pending_action: pending('delete') }, 'DELETED'],
    ['with a pending stop', { pending_action: pending('stop') }, 'ORPHANED'],
  ])('shows that a lab is gone: one %s', (_, more, expected) => {
    expect(statusOfMissing({ ...record, ...more }, scan)).toBe(expected)
  })

  it.each<[string, Partial<LabRecord>, Partial<LabScan>]>([
    ['that lists it', {}, { isSeen: true }],
    ['that failed half-way', {}, { is_complete: false }],
    ['that began before the lab was last seen', { last_seen_at: '2026-01-02T04:00:01.000Z' }, {}],
    ['that began when it was last seen', { last_seen_at: '2026-01-02T04:00:00.000Z' }, {}],
    ['of a lab that is about to be imported', { lab_id: null }, { isAwaited: true }],
    ['of a lab that is known to be gone', { status: 'DELETED' }, {}],
    ['of a lab that was lost before', { status: 'ORPHANED' }, {}],
  ])('changes nothing of a lab: one %s', (_, more, scanned) => {
    expect(statusOfMissing({ ...record, ...more }, { ...scan, ...scanned })).toBeNull()
  })
})

function pending(action: LabAction): LabRecord['pending_action'] {
  return { action, by: 'op', at: '2026-01-02T03:00:00.000Z', attempts: 0, error: null }
}
