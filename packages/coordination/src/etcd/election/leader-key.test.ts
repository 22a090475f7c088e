import { LEADER_ELECTION_DEFAULTS } from '@lcm/runtime'
import { expect, it } from 'vitest'
import { leaderKey, leaderOf, parseLeaderRecord } from './leader-key.ts'

it.each([
  ['worker-controller', '/lcm/worker-controller/leader'],
  ['resource-scheduler', '/lcm/resource-scheduler/leader'],
  ['lablet-controller', '/lcm/lablet-controller/leader'],
])('of %s is the documented election key', (service, key) => {
  expect(leaderKey(LEADER_ELECTION_DEFAULTS.electionKeyPrefix, service)).toBe(key)
})

it('yields the leader, its term and its lease', () => {
  const record = { instance_id: 'a', host: 'h', since: '2026-01-01T00:00:00Z', liveness_address: '10.0.0.1:80' }
  const state = { key: 'k', value: JSON.stringify(record), createRevision: 7, modRevision: 7, lease: 99n }
  expect(leaderOf(state)).toEqual({ record, epoch: 7, lease: 99n })
})

it.each(['', 'text', '[]', '7', 'null', '{"instance_id":7}', '{"liveness_address":""}'])(
  'reads %s as no leader',
  value => {
    expect(parseLeaderRecord(value)).toEqual({ instance_id: '', host: '', since: '' })
  },
)
