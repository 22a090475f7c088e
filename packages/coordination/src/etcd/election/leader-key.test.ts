import { LEADER_ELECTION_DEFAULTS } from '@lcm/runtime'
import { expect, it } from 'vitest'
import { holderOf, leaderKey, readRecord } from './leader-key.ts'

it.each([
  ['worker-controller', '/lcm/worker-controller/leader'],
  ['resource-scheduler', '/lcm/resource-scheduler/leader'],
  ['lablet-controller', '/lcm/lablet-controller/leader'],
])('of %s is the election key of the documents', (service, key) => {
  expect(leaderKey(LEADER_ELECTION_DEFAULTS.electionKeyPrefix, service)).toBe(key)
})

it('names the holder, its term and its lease', () => {
  const record = { instance_id: 'a', host: 'h', since: '2026-01-01T00:00:00Z', liveness_address: '10.0.0.1:80' }
  const state = { key: 'k', value: JSON.stringify(record), createRevision: 7, modRevision: 7, lease: 99n }
  expect(holderOf(state)).toEqual({ record, epoch: 7, lease: 99n })
})

it.each(['', 'text', '[]', '7', 'null', '{"instance_id":7}', '{"liveness_address":""}'])(
  'reads %s as nobody',
  value => {
    expect(readRecord(value)).toEqual({ instance_id: '', host: '', since: '' })
  },
)
