import { aLabRecord } from '@lcm/testkit/builders'
import { describe, expect, it } from 'vitest'
import {
  isGone,
  isMissing,
  isQuiet,
  LAB_STATUSES,
  LabRecord,
  type LabScan,
  type LabStatus,
  statusOfLab,
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

it('D-22: a wiped lab stays WIPED, though CML calls it what it calls one that never ran', () => {
  expect(statusOfLab('DEFINED_ON_CORE', 'WIPED')).toBe('WIPED')
})

it('knows which labs take no room', () => {
  expect(LAB_STATUSES.filter(isQuiet)).toEqual(['DEFINED', 'STOPPED', 'WIPED', 'DELETED', 'ORPHANED'])
  expect(LAB_STATUSES.filter(isGone)).toEqual(['DELETED'])
})

it('is a document that its own schema takes', () => {
  expect(LabRecord.parse(aLabRecord())).toEqual(aLabRecord())
})

describe('D-23: a scan', () => {
  const record = aLabRecord({ last_seen_at: '2026-01-02T03:00:00.000Z' })
  const scan = (more: Partial<LabScan> = {}): LabScan => ({
    worker_id: 'w-1',
    began_at: '2026-01-02T04:00:00.000Z',
    is_complete: true,
    lab_ids: new Set(['lab-2']),
    ...more,
  })

  it('shows that a lab is gone which it lists no longer', () => {
    expect(isMissing(record, scan())).toBe(true)
    expect(isMissing(record, scan({ lab_ids: new Set() }))).toBe(true)
  })

  it.each<[string, Partial<LabRecord>, Partial<LabScan>]>([
    ['that lists it', {}, { lab_ids: new Set(['lab-1']) }],
    ['that failed half-way', {}, { is_complete: false, lab_ids: new Set() }],
    ['of another worker', {}, { worker_id: 'w-2' }],
    ['that began before the lab was last seen', { last_seen_at: '2026-01-02T04:00:01.000Z' }, {}],
    ['that began in the moment in which it was last seen', { last_seen_at: '2026-01-02T04:00:00.000Z' }, {}],
    ['of a lab that is not imported yet', { lab_id: null }, {}],
    ['of a lab whose removal is under way', { status: 'DELETING' }, {}],
    ['of a lab that is known to be gone', { status: 'DELETED' }, {}],
    ['that shows it again', { status: 'ORPHANED' }, {}],
  ])('says nothing of a lab: one %s', (_, more, scanned) => {
    expect(isMissing({ ...record, ...more }, scan(scanned))).toBe(false)
  })
})
