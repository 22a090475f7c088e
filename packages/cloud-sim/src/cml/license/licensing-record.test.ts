import { describe, expect, it } from 'vitest'
import {
  authorizationAt,
  failureAt,
  type LicensingRecord,
  quotaAt,
  type Registration,
  registrationAt,
  UNLICENSED,
} from './licensing-record.ts'

const asked = (outcome: Registration['outcome'], over: Partial<LicensingRecord> = {}): LicensingRecord => ({
  ...UNLICENSED,
  registration: { token: 'T0K3N', asked_ms: 0, ends_ms: 100, authorized_ms: 200, outcome },
  ...over,
})
const story = (record: LicensingRecord, times: readonly number[]) =>
  times.map(at => `${registrationAt(record, at)} ${authorizationAt(record, at, 'IN_COMPLIANCE')}`)

describe('a registration', () => {
  it('is granted, and authorized later', () => {
    expect(story(asked('granted'), [0, 99, 100, 199, 200])).toEqual([
      'IN_PROGRESS INIT',
      'IN_PROGRESS INIT',
      'COMPLETED INIT',
      'COMPLETED INIT',
      'COMPLETED IN_COMPLIANCE',
    ])
  })

  it('fails with a bad token, and quotes the token', () => {
    expect(story(asked('bad_token'), [50, 100, 500])).toEqual(['IN_PROGRESS INIT', 'FAILED EVAL', 'FAILED EVAL'])
    expect(failureAt(asked('bad_token'), 100)).toContain('T0K3N')
    expect(failureAt(asked('bad_token'), 50)).toBeNull()
  })

  it('retries while Smart Licensing is unreachable', () => {
    expect(story(asked('not_reached'), [50, 100])).toEqual(['IN_PROGRESS INIT', 'RETRY_IN_PROGRESS EVAL'])
  })

  it('can be out of compliance', () => {
    expect(authorizationAt(asked('granted'), 300, 'OUT_OF_COMPLIANCE')).toBe('OUT_OF_COMPLIANCE')
  })
})

describe('the node quota', () => {
  it.each([
    ['no license', UNLICENSED, 5],
    ['a license that is not authorized yet', { ...asked('granted'), extra_nodes: 30 }, 5],
    ['a bad token', asked('bad_token'), 5],
  ])('with %s is %s', (_name, record, quota) => {
    expect(quotaAt(record, 150)).toBe(quota)
  })

  it.each([
    ['CML_Enterprise', 20 + 30],
    ['CML_Education', 20 + 30],
    ['CML_Personal', 20],
    ['CML_Personal40', 40],
  ])('of %s with 30 extra nodes is %s', (product, quota) => {
    expect(quotaAt(asked('granted', { product, extra_nodes: 30 }), 200)).toBe(quota)
  })
})
