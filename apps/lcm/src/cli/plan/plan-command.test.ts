import { reason, textReason } from '@lcm/domain/reason'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aReplica, aWorker } from '../testing/resource-builders.ts'

const IN_TWO_MINUTES = '2026-01-01T00:02:00.000Z'
/** Missed heartbeats, but not yet forgotten. */
const LATE = '2025-12-31T23:59:40.000Z'

const resource = 'worker:w-1'
const PLAN = [
  { resource, action: 'describe_again', because: textReason('EC2 was slow'), due_at: IN_TWO_MINUTES },
  { resource, action: 'launch', because: textReason('not requested\nyet'), due_at: null },
]

function planned() {
  const captured = capturedShell()
  const { api } = captured
  api.put(aWorker({ id: 'w-1', name: 'metal-1' }))
  api.plan('worker-controller', ...PLAN)
  return { ...captured, lcm: (...args: string[]) => run(['plan', ...args], captured.shell) }
}

it('shows what each service would do with the reason, due actions first', async () => {
  const { lcm, outLines } = planned()
  expect(await lcm()).toBe(0)
  expect(outLines()).toEqual([
    'resource-scheduler  nothing to do, as of 0s ago',
    '',
    'lablet-controller  nothing to do, as of 0s ago',
    '',
    'worker-controller  2 things to do, as of 0s ago',
    '  now     launch           worker metal-1   not requested yet',
    '  in 2m   describe again   worker metal-1   EC2 was slow',
  ])
})

it('does not count a wait as an action', async () => {
  const { lcm, api, out } = planned()
  const wait = { resource, action: 'wait', because: textReason('it boots'), due_at: null }
  api.plan('worker-controller', ...PLAN, wait)
  await lcm()
  expect(out()).toContain('worker-controller  2 things to do, 1 waiting, as of 0s ago')
  api.plan('worker-controller', wait)
  await lcm()
  expect(out()).toContain('worker-controller  1 waiting, as of 0s ago')
})

it('reports nothing to do only when all services have responded', async () => {
  const { lcm, api, out, outLines } = planned()
  api.plan('worker-controller')
  expect(await lcm()).toBe(0)
  expect(out()).toBe('Nothing to do.\n')
  api.setReplicas(aReplica({ service: 'lablet-controller', is_leader: false }), aReplica({ seen_at: LATE }))
  expect(await lcm()).toBe(0)
  expect(outLines().slice(1)).toEqual([
    'resource-scheduler  not running, no plan',
    '',
    'lablet-controller  no leader: no decisions until a replica leads',
    '',
    'worker-controller  stale: last heartbeat of its leader 20s ago',
  ])
})

it('tells users without access to other sessions that those are omitted', async () => {
  const { lcm, api, out, outLines } = planned()
  api.plan('worker-controller')
  api.actAs({ id: 'token:2', name: 'bob', role: 'user' })
  const leftOut = 'sessions of others, because your role is user'
  expect(await lcm()).toBe(0)
  expect(outLines()).toEqual(['Nothing to do.', '', `Left out: ${leftOut}.`])
  await lcm('-o', 'json')
  expect(JSON.parse(out().slice(out().indexOf('{'))).left_out).toBe(leftOut)
})

it('marks a stale plan, and still shows it', async () => {
  const { lcm, api, out } = planned()
  api.setReplicas(aReplica({ plan: PLAN, seen_at: LATE }))
  await lcm()
  expect(out()).toContain('worker-controller  2 things to do; stale: last heartbeat of its leader 20s ago\n  now ')
})

it('prints JSON for programs, including what may be missing', async () => {
  const { lcm, api, out } = planned()
  api.setReplicas(aReplica({ plan: PLAN }))
  await lcm('-o', 'json')
  const document = JSON.parse(out())
  expect(document.items).toHaveLength(2)
  expect(document.left_out).toBeNull()
  const missing = { reported_at: null, caveat: 'not running, no plan' }
  expect(document.services).toEqual([
    { service: 'resource-scheduler', ...missing },
    { service: 'lablet-controller', ...missing },
    { service: 'worker-controller', reported_at: aReplica().seen_at, caveat: null },
  ])
  const yaml = planned()
  await yaml.lcm('-o', 'yaml')
  expect(parse(yaml.out()).items[0].action).toBe('describe_again')
})

it('lists a worker that only an operator can unblock, rather than nothing to do', async () => {
  const { lcm, api, outLines } = planned()
  const because = 'it failed, and its machine is stopped; retry it or terminate it'
  api.plan('worker-controller', { resource, action: 'manual', because: textReason(because), due_at: null })
  expect(await lcm()).toBe(0)
  expect(outLines()).toContain('worker-controller  1 blocked, as of 0s ago')
  expect(outLines()).toContain(`  -   needs a person   worker metal-1   ${because}`)
})

const STOP = reason('plan_stop', { next_use: '2026-01-01T14:00:00.000Z', sleeping_usd: 1.25, staying_usd: 12.36 })
const WAKE = reason('plan_wake', { sessions: 8, first_use: '2026-01-01T14:00:00.000Z', minutes: 20 })
const CALENDAR = {
  ...{ id: 'fleet', version: 1, created_at: LATE, updated_at: LATE, at: LATE, until: '2026-01-03T00:00:00.000Z' },
  machines: [
    {
      ...{ key: 'w-1', worker_id: 'w-1', template_name: 'metal', session_ids: ['ls-1'] },
      steps: [
        { kind: 'stop' as const, at: LATE, because: STOP, usd: 0, session_ids: [] },
        { kind: 'wake' as const, at: '2026-01-01T13:39:00.000Z', because: WAKE, usd: 9.25, session_ids: ['ls-1'] },
      ],
    },
  ],
  unplaced: [{ session_id: 'ls-2', because: textReason('the budget does not allow one') }],
  left_out: { machines: 0, steps: 2, session_ids: 0, unplaced: 0 },
  usd: 9.25,
  fence: {},
}

it('shows operators when each machine sleeps and is woken, with prices', async () => {
  const { lcm, api, outLines, out } = planned()
  api.seed(() => api.plane.put('plans', CALENDAR))
  expect(await lcm()).toBe(0)
  expect(outLines().slice(-5)).toEqual([
    'calendar  1 machine until 2026-01-03 00:00 UTC, $9.25; stale: its scheduler does not confirm it',
    '  now                    stop   metal-1       -   next use 2026-01-01 14:00 UTC; sleeping costs 1.25 USD, staying 12.36 USD',
    '  2026-01-01 13:39 UTC   wake   metal-1   $9.25   8 sessions from 2026-01-01 14:00 UTC; it takes up to 20 min to be ready',
    '  no machine for ls-2: the budget does not allow one',
    '  2 later steps left out',
  ])
  api.actAs({ role: 'user' })
  await lcm()
  expect(out().slice(out().indexOf('Left out'))).not.toContain('sleeping costs')
})
