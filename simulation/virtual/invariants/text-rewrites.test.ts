import { expect, it } from 'vitest'
import { textRewrites } from './text-rewrites.ts'

const denied = (error: string, code = 'UnauthorizedOperation') => ({
  ...{ code: 'aws_denies', message: `AWS denies the launch: ${error}` },
  params: { aws_code: code, error },
})
const worker = (version: number, reason: object, status = 'PENDING') => ({
  ...{ id: 'w-1', version, status, updated_at: `2026-01-0${version}` },
  conditions: [{ type: 'LaunchBlocked', status: true, reason }],
})

it('finds a version that changes only texts', () => {
  const rewrites = textRewrites('worker')
  expect(rewrites(worker(1, denied('aaaa')))).toEqual([])
  expect(rewrites(worker(2, denied('bbbb')))).toEqual(['worker w-1 was written again, and only its texts changed'])
})

it.each([
  ['another code', worker(2, denied('bbbb', 'AuthFailure'))],
  ['another status', worker(2, denied('bbbb'), 'PROVISIONING')],
  ['the same texts', worker(2, denied('aaaa'))],
  ['a version between them that it has not seen', worker(3, denied('bbbb'))],
  ['another document', { ...worker(2, denied('bbbb')), id: 'w-2' }],
])('allows %s', (_, next) => {
  const rewrites = textRewrites('worker')
  rewrites(worker(1, denied('aaaa')))
  expect(rewrites(next)).toEqual([])
})

it('allows another text of CML, which has no error codes', () => {
  const rewrites = textRewrites('worker')
  const refused = (error: string) => ({ code: 'license_return_refused', message: error, params: { error } })
  rewrites(worker(1, refused('A registration is in progress')))
  expect(rewrites(worker(2, refused('Stop all labs first')))).toEqual([])
})
