import { textReason } from '@lcm/domain/reason'
import { describe, expect, it } from 'vitest'
import {
  healthOf,
  isFulfilled,
  planByService,
  problemsOf,
  type Replica,
  roleOf,
  type Service,
} from './service-health.ts'

const AT = '2026-01-02T03:04:05.000Z'
const AT_MS = Date.parse(AT)

const replica = (changes: Partial<Replica> = {}): Replica => ({
  id: 'worker-controller:one',
  service: 'worker-controller',
  instance_id: 'one',
  seen_at: AT,
  is_leader: true,
  epoch: 3,
  since: AT,
  software: '0.1.0',
  queue: { due: 0, active: 0 },
  retries: 0,
  watch: { healthy: true, age_seconds: 1 },
  last_sweep: AT,
  problems: [],
  ...changes,
})
const service = (changes: Partial<Service> = {}): Service => ({
  service: 'worker-controller',
  leader: { instance_id: 'one', epoch: 3, since: AT },
  term: null,
  last_seen_at: AT,
  instances: [replica()],
  ...changes,
})

describe('a replica', () => {
  it('leads, waits, or has not noticed that it was deposed', () => {
    expect(roleOf(replica(), service())).toBe('leader')
    expect(roleOf(replica({ instance_id: 'two', is_leader: false }), service())).toBe('standby')
    expect(roleOf(replica({ instance_id: 'two' }), service())).toBe('deposed')
  })

  it('is marked when stale, deposed or without change events', () => {
    expect(problemsOf(replica(), service(), AT_MS + 15_000)).toEqual([])
    expect(problemsOf(replica(), service(), AT_MS + 15_001)).toEqual(['stale'])
    const deaf = replica({
      instance_id: 'two',
      watch: { healthy: false, age_seconds: null },
      problems: [textReason('etcd is gone')],
    })
    expect(problemsOf(deaf, service(), AT_MS)).toEqual(['claims leadership', 'no change events', 'etcd is gone'])
  })
})

it('a service is healthy, degraded or without a leader', () => {
  expect(healthOf(service(), AT_MS)).toMatchObject({ tone: 'green' })
  expect(healthOf(service(), AT_MS + 60_000)).toMatchObject({ tone: 'orange' })
  expect(healthOf(service({ leader: null }), AT_MS)).toMatchObject({ tone: 'red', text: 'no leader' })
  expect(healthOf(service({ instances: [] }), AT_MS)).toMatchObject({ tone: 'red', text: 'not running' })
})

it('a request is fulfilled by the next heartbeat or a new leader', () => {
  const trigger = { what: 'trigger', atMs: AT_MS, epoch: 3 } as const
  const resign = { ...trigger, what: 'resign' } as const
  expect(isFulfilled(trigger, service())).toBe(true)
  expect(isFulfilled({ ...trigger, atMs: AT_MS + 1 }, service())).toBe(false)
  expect(isFulfilled(resign, service())).toBe(false)
  expect(isFulfilled(resign, service({ leader: null }))).toBe(false)
  expect(isFulfilled(resign, service({ leader: { instance_id: 'two', epoch: 4, since: AT } }))).toBe(true)
})

it('a plan is grouped by service, due actions first', () => {
  const item = (name: string, due_at: string | null) => ({
    service: name,
    resource: 'worker:w-1',
    action: 'observe',
    because: textReason('so'),
    due_at,
  })
  const later = '2026-01-02T03:05:05.000Z'
  const plan = planByService([item('b', later), item('b', AT), item('b', null)], ['a', 'b'])
  expect(plan.map(([name, items]) => [name, items.map(({ due_at }) => due_at)])).toEqual([
    ['a', []],
    ['b', [null, AT, later]],
  ])
})
