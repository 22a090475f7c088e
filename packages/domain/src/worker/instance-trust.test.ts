import { onMachine } from '@lcm/testkit/observation-builders'
import { anAttempt, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import {
  approved,
  autoApproval,
  isTrusted,
  needsApproval,
  normalFingerprint,
  pinned,
  shownCertificate,
  trustAfter,
} from './instance-trust.ts'
import { CONDITION, type Worker } from './worker.ts'
import { type Approval, NOT_NEEDED } from './worker-field-schemas.ts'

const AT = '2026-01-02T03:04:05.678Z'
const REQUIRED: Approval = { ...NOT_NEEDED, state: 'required' }
const BY_ANN: Approval = { state: 'approved', by: 'ann', at: AT, fingerprint: null }
const found = (more: Partial<Worker> = {}) =>
  onMachine({ origin: 'DISCOVERY', launch: null, approval: REQUIRED, ...more })
const own = { secret_refs: { cml_login: 'ref' } }

it.each<[string, Worker, { trusted: boolean; required: boolean }]>([
  ['LCM launched', onMachine(), { trusted: true, required: false }],
  ['is still to be launched', aWorker(), { trusted: false, required: false }],
  ['LCM imported', found(), { trusted: false, required: true }],
  ['LCM imported, whatever its record says', found({ approval: NOT_NEEDED }), { trusted: false, required: true }],
  ['LCM imported and an operator set credentials for', found(own), { trusted: false, required: true }],
  ['LCM imported and an operator approved', found({ approval: BY_ANN }), { trusted: true, required: false }],
  [
    'was in use before approvals existed',
    found({ approval: { ...NOT_NEEDED, state: 'migrated' } }),
    { trusted: true, required: false },
  ],
  [
    'only its tags assign to the worker',
    onMachine({ launch: anAttempt({ state: 'adopted' }) }),
    { trusted: false, required: true },
  ],
  ['is gone', found({ status: 'TERMINATED' }), { trusted: false, required: false }],
])('trust in a machine that %s', (_, worker, { trusted, required }) => {
  expect(isTrusted(worker)).toBe(trusted)
  expect(needsApproval(worker)).toBe(required)
})

describe('the approval after a report', () => {
  const pending = aWorker()
  it.each<[string, Worker, Worker, Approval]>([
    ['is not needed for a launched machine', pending, onMachine(), NOT_NEEDED],
    ['is required for an adopted machine', pending, onMachine({ launch: anAttempt({ state: 'adopted' }) }), REQUIRED],
    ['stays', found({ approval: BY_ANN }), found({ approval: BY_ANN, status: 'STOPPED' }), BY_ANN],
    [
      'does not pass on to another machine',
      found({ approval: BY_ANN }),
      found({ approval: BY_ANN, ec2_instance_id: 'i-2' }),
      REQUIRED,
    ],
    [
      'ends with the machine',
      found({ approval: BY_ANN }),
      found({ approval: BY_ANN, ec2_instance_id: null }),
      NOT_NEEDED,
    ],
  ])('%s', (_, before, after, approval) => {
    expect(trustAfter(before, after).approval).toEqual(approval)
  })
})

it('neither the pin nor the certificate of a machine that is gone is taken for those of the next one', () => {
  const cml = { ...found().cml, certificate_sha256: 'ab', seen_certificate_sha256: 'cd', version: '2.8' }
  const before = found({ approval: BY_ANN, cml, launch: anAttempt({ state: 'adopted' }) })
  const forgotten = { certificate_sha256: null, seen_certificate_sha256: null }
  for (const ec2_instance_id of [null, 'i-2'])
    expect(trustAfter(before, { ...before, ec2_instance_id }).cml).toEqual({ ...cml, ...forgotten })
  expect(trustAfter(before, { ...before, status: 'STOPPED' }).cml).toEqual(cml)
})

describe('an approval', () => {
  const seen = found({ cml: { ...found().cml, seen_certificate_sha256: 'abc' } })

  it('pins the given certificate before any login', () => {
    const worker = approved(seen, { by: 'ann', at: AT, fingerprint: 'def' })
    expect(worker).toMatchObject({
      approval: { state: 'approved', by: 'ann', at: AT, fingerprint: 'def' },
      cml: { certificate_sha256: 'def', seen_certificate_sha256: null },
    })
  })

  it('pins nothing without a certificate: the first contact does', () => {
    const worker = approved(seen, { by: 'ann', at: AT, fingerprint: null })
    expect(worker.cml).toMatchObject({ certificate_sha256: null, seen_certificate_sha256: 'abc' })
    expect(isTrusted(worker)).toBe(true)
  })
})

it('a new pin ends the condition about the certificate', () => {
  const because = { code: 'certificate_changed', message: '', params: {} }
  const changed = { type: CONDITION.certificateChanged, status: true, reason: because, since: AT }
  const worker = found({
    conditions: [changed],
    cml: { ...found().cml, certificate_sha256: 'a', seen_certificate_sha256: 'b' },
  })
  expect(shownCertificate(worker)).toBe('b')
  expect(pinned(worker, 'b')).toMatchObject({ conditions: [], cml: { certificate_sha256: 'b' } })
  expect(shownCertificate(pinned(worker, 'b'))).toBe('b')
})

it.each([
  ['none', 'ami-00000001', 'lt-00000001', false],
  ['ami-00000001', 'ami-00000001', null, true],
  ['ami-00000002,lt-00000001', 'ami-00000001', 'lt-00000001', true],
  ['ami-00000002,lt-00000002', 'ami-00000001', 'lt-00000001', false],
  ['ami-00000001', null, null, false],
])(
  'auto_approve %s: image %s of launch template %s is approved: %s',
  (setting, ami_id, launch_template_id, isApproved) => {
    expect(autoApproval(setting, { ami_id, launch_template_id }, AT) !== null).toBe(isApproved)
  },
)

it('a fingerprint may have colons and capitals', () => {
  expect(normalFingerprint('AB:cd:0F')).toBe('abcd0f')
})
