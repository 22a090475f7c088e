import { expect, it } from 'vitest'
import { etcdErrorFrom, isEtcdError } from './errors.ts'

it.each([
  [
    14,
    'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1 (2026-01-01T00:00:00.000Z). Resolution note: ',
    'etcd_unreachable',
  ],
  [14, 'Name resolution failed for target dns:nowhere:2379', 'etcd_unreachable'],
  [14, 'etcdserver: no leader', 'etcd_no_leader'],
  [14, 'etcdserver: leader changed', 'etcd_no_leader'],
  [14, 'etcdserver: request timed out, possibly due to previous leader failure', 'etcd_no_leader'],
  [14, 'etcdserver: request timed out', 'etcd_slow'],
  [14, 'Channel closed before call started', 'etcd_slow'],
  [14, 'No connection established. Last error: Error: self-signed certificate in certificate chain', 'etcd_untrusted'],
  [4, 'Deadline exceeded', 'etcd_slow'],
  [8, 'etcdserver: mvcc: database space exceeded', 'etcd_no_space'],
  [8, 'etcdserver: too many requests', 'etcd_slow'],
  [3, 'etcdserver: authentication failed, invalid user ID or password', 'etcd_bad_credentials'],
  [3, 'etcdserver: user name is empty', 'etcd_bad_credentials'],
  [16, 'etcdserver: invalid auth token', 'etcd_bad_credentials'],
  [7, 'etcdserver: permission denied', 'etcd_permission_denied'],
  [2, 'rpc error: code = PermissionDenied desc = etcdserver: permission denied', 'etcd_permission_denied'],
  [11, 'etcdserver: mvcc: required revision has been compacted', 'etcd_compacted'],
  [5, 'etcdserver: requested lease not found', 'etcd_lease_not_found'],
  [13, 'something new', 'etcd_failed'],
])('maps %i "%s" to %s', (code, details, expected) => {
  expect(etcdErrorFrom('etcd:2379', { code, details }).code).toBe(expected)
})

it('states endpoint, problem and cause, and what to do', () => {
  const details =
    'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1 (2026-01-01T00:00:00.000Z). Resolution note: '
  const error = etcdErrorFrom('etcd:2379', { code: 14, details })
  expect(error.message).toBe('etcd at etcd:2379 cannot be reached (connect ECONNREFUSED 127.0.0.1:1)')
  expect(error.advice).toBe('check that it runs and that the endpoint is right')
  expect(error.endpoint).toBe('etcd:2379')
})

it('are distinguished from other errors', () => {
  const error = etcdErrorFrom('etcd:2379', { code: 14, details: '' })
  expect([isEtcdError(error, 'etcd_slow', 'etcd_unreachable'), isEtcdError(error, 'etcd_slow')]).toEqual([true, false])
  expect(isEtcdError(new Error('etcd_slow'), 'etcd_slow')).toBe(false)
})
