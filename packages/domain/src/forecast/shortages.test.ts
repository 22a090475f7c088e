import { expect, it } from 'vitest'
import { reason } from '../reason.ts'
import { shortagesOf } from './shortages.ts'

const HOUR_MS = 3_600_000
const LIMIT = reason('region_worker_limit', { region: 'us-east-1', limit: 1 })
const NONE = reason('plan_no_capacity')

const span = (session_id: string, from: number, until: number) => ({
  session_id,
  fromMs: from * HOUR_MS,
  untilMs: until * HOUR_MS,
})
const SPANS = new Map(
  [span('a', 9, 11), span('b', 10, 12), span('c', 33, 34), span('d', 9, 10)].map(each => [each.session_id, each]),
)

it('are by day and reason, with the time of all their sessions', () => {
  const unplaced = [
    { session_id: 'c', because: LIMIT },
    { session_id: 'b', because: LIMIT },
    { session_id: 'a', because: LIMIT },
    { session_id: 'd', because: NONE },
    { session_id: 'gone', because: NONE },
  ]
  expect(shortagesOf(unplaced, SPANS, [])).toEqual([
    { fromMs: 9 * HOUR_MS, untilMs: 12 * HOUR_MS, session_ids: ['b', 'a'], because: LIMIT, workers_needed: null },
    { fromMs: 9 * HOUR_MS, untilMs: 10 * HOUR_MS, session_ids: ['d'], because: NONE, workers_needed: null },
    { fromMs: 33 * HOUR_MS, untilMs: 34 * HOUR_MS, session_ids: ['c'], because: LIMIT, workers_needed: null },
  ])
})

it('need the workers that would exist then if nothing limited purchases', () => {
  const machine = (key: string, from: number, ids: readonly string[]) => ({
    key,
    name: key,
    worker_id: null,
    template_name: 'metal',
    usd_per_hour: 4,
    disk_usd_per_hour: 0,
    sessions: ids.flatMap(id => SPANS.get(id) ?? []),
    awake: [],
    marks: [],
    exists: { fromMs: from * HOUR_MS, untilMs: 100 * HOUR_MS },
  })
  const unlimited = [
    machine('one', 0, []),
    machine('two', 8, ['a']),
    machine('three', 9, ['b']),
    machine('four', 32, ['c']),
  ]
  const unplaced = ['a', 'b', 'c'].map(session_id => ({ session_id, because: LIMIT }))
  expect(shortagesOf(unplaced, SPANS, unlimited).map(({ workers_needed }) => workers_needed)).toEqual([3, 4])
})
