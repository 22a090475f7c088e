import { expect, it } from 'vitest'
import { holderOf, leaderKey, readRecord } from './leader-key.ts'

it('lies under the prefix and the service', () => {
  expect(leaderKey('/lcm', 'worker-controller')).toBe('/lcm/worker-controller/leader')
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
