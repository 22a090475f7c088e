import { apiClient } from '@lcm/client/client'
import { toInstant } from '@lcm/domain/instant'
import { reason, textReason } from '@lcm/domain/reason'
import type { Worker } from '@lcm/domain/worker/worker'
import { NOT_NEEDED } from '@lcm/domain/worker/worker-field-schemas'
import { expect, it } from 'vitest'
import { cliApi } from '../cli/testing/in-memory-api.ts'
import {
  aDefinition,
  aLeak,
  aReadySession,
  aRunningWorker,
  aSession,
  aWorker,
  START_MS,
} from '../cli/testing/resource-builders.ts'
import { readLivingAndLost } from '../cli/worker/lost-workers.ts'
import { type FleetFacts, judgeFleet, readFleet } from './judge-fleet.ts'

const CALM: FleetFacts = { workers: [], sessions: [], definitions: [], leaks: [], pools: [], warnings: [] }
const since = toInstant(START_MS)
const condition = (type: string, message: string) => ({
  type,
  status: true,
  reason: { code: type, message: message, params: {} },
  since,
})
const lost = aWorker({
  status: 'TERMINATED',
  state_history: [{ from: 'RUNNING', to: 'TERMINATED', at: since, because: textReason('its machine is gone') }],
})
const failedSync = { ...aDefinition().sync, status: 'failed' as const, error: 'no such bucket' }
const brief = (facts: Partial<FleetFacts>) =>
  judgeFleet({ ...CALM, ...facts }).map(({ severity, message }) => `${severity}: ${message}`)

const ALL_OK = ['ok: no worker, session, definition or license needs attention']

it('reports that nothing needs attention', () => {
  const ended = aWorker({ status: 'TERMINATED', desired_status: 'TERMINATED' })
  expect(
    brief({
      workers: [aRunningWorker(), aWorker(), ended],
      sessions: [
        aReadySession(),
        aSession(),
        aSession({ status: 'ARCHIVED', waiting_reason: textReason('no capacity') }),
      ],
      definitions: [aDefinition(), aDefinition({ status: 'DEPRECATED', sync: failedSync })],
      leaks: [aLeak({ resolved_at: since })],
    }),
  ).toEqual(ALL_OK)
})

it.each<[Partial<Worker>, string]>([
  [lost, 'metal-1 is lost: its machine is gone'],
  [{ conditions: [condition('LaunchBlocked', 'no quota')] }, 'metal-1 is PENDING and blocked: no quota'],
  [{ conditions: [condition('EndpointTagIgnored', 'the tag is ignored')] }, 'metal-1: the tag is ignored'],
  [
    { status: 'RUNNING', ec2_instance_id: 'i-1' },
    'metal-1 needs an approval: LCM did not launch its machine, and sends it no password, license or session',
  ],
  [
    // The view of users hides the instance.
    { status: 'RUNNING', ec2_instance_id: null, approval: { ...NOT_NEEDED, state: 'required' } },
    'metal-1 needs an approval: LCM did not launch its machine, and sends it no password, license or session',
  ],
  [{ status: 'UNKNOWN' }, 'metal-1 is UNKNOWN: requested by admin'],
  [{ license: { ...lost.license, status: 'FAILED', last_error: 'no seat' } }, 'metal-1 has no license: no seat'],
])('warns about worker %#', (changes, message) => {
  expect(brief({ workers: [aWorker(changes)] })).toEqual([`warning: ${message}`])
})

const down = (message: string) => ({ status: 'DOWN' as const, reason: textReason(message), since })

it('fails for people who are affected, by cause, with the fix and the owners', () => {
  const because = reason('region_worker_limit', { region: 'us-east-1', limit: 10 })
  const late = (n: number) =>
    aSession({
      id: `ls-${n}`,
      owner_name: `student${n}`,
      waiting_reason: because,
      health: { status: 'DOWN', reason: because, since },
    })
  const silent = reason('lab_state_unknown', { worker: 'metal-1', status: 'RUNNING' })
  const sessions = [
    ...Array.from({ length: 9 }, (_, n) => late(n + 1)),
    aReadySession({ id: 'ls-10', health: { status: 'DEGRADED', reason: silent, since } }),
  ]
  expect(judgeFleet({ ...CALM, workers: [lost], sessions })).toMatchObject([
    {
      severity: 'failure',
      message:
        '9 sessions wait: the limit of 10 workers in us-east-1 is reached (student1, student2, student3 and 6 more)',
      advice: 'raise max_workers_per_region, or end sessions that are not needed',
    },
    { severity: 'warning', message: expect.stringMatching(/^1 session is degraded: CML on metal-1 is not available/) },
    { severity: 'warning', message: 'metal-1 is lost: its machine is gone' },
  ])
})

it('warns about definitions and licenses, each with a command for details', () => {
  const found = judgeFleet({ ...CALM, definitions: [aDefinition({ sync: failedSync })], leaks: [aLeak()] })
  expect(found.map(({ message }) => message)).toEqual([
    'definition two-routers could not be fetched: no such bucket',
    'the license of metal-9 (cml-9) leaked: its machine was terminated outside LCM',
  ])
  expect(found.map(({ advice }) => advice)).toEqual([
    expect.stringContaining('`lcm describe definition two-routers`'),
    expect.stringContaining('`lcm resolve leak ll-1`'),
  ])
})

it('summarizes a long list of warnings as a count', () => {
  const found = brief({ workers: Array.from({ length: 12 }, () => lost) })
  expect(found).toHaveLength(11)
  expect(found.at(-1)).toBe('warning: and 2 more')
})

it('reads the fleet from the API', async () => {
  const api = cliApi()
  const client = apiClient(api.dispatch, { token: 'secret' })
  const { signal } = new AbortController()
  api.put(lost)
  api.sessions.put(aSession({ waiting_reason: textReason('no capacity'), health: down('no capacity') }))
  api.definitions.put(aDefinition({ sync: failedSync }))
  api.putLeak(aLeak())
  const { items } = await readLivingAndLost(client, signal)
  expect(judgeFleet(await readFleet(client, items, signal))).toHaveLength(4)
})

it('lists license pools without a free seat, with what to do', () => {
  const at = since
  const pool = {
    id: 'lp-1',
    version: 1,
    created_at: at,
    updated_at: at,
    product: 'CML_Enterprise',
    seats: 2,
    taken: [],
  }
  const judged = (free: number, leaked: number, ...names: string[]) => {
    const waiting = names.map(name => ({ worker_id: name, worker_name: name }))
    return judgeFleet({ ...CALM, pools: [{ ...pool, free, leaked, waiting }] }).map(({ message, advice }) => [
      message,
      advice,
    ])
  }
  expect(judged(1, 1)).toEqual([['no worker, session, definition or license needs attention', null]])
  expect(judged(0, 0)).toEqual([
    [
      'the license pool CML_Enterprise has no free seat (2 seats in use): LCM buys no more machines of it',
      'add seats with `lcm edit license-pool CML_Enterprise --seats N`, or stop a worker',
    ],
  ])
  expect(judged(0, 1, 'metal-1')).toEqual([
    [
      'the license pool CML_Enterprise has no free seat (2 seats in use, 1 of them by leaks): metal-1 run 5 nodes at most',
      'resolve the leaks (`lcm get leaks`), or add seats with `lcm edit license-pool CML_Enterprise --seats N`',
    ],
  ])
})

it('reports warnings about the whole fleet, with what to do', () => {
  const used = { period: 'day', date: '2026-01-02', limit: 100, spent_usd: 90, committed_usd: 0 } as const
  const fix = reason('fix_budget', { period: 'day' })
  const warning = {
    id: 'budget:day',
    kind: 'budget',
    is_critical: false,
    reason: reason('budget_short', used),
    fix,
  } as const
  expect(judgeFleet({ ...CALM, warnings: [warning] })).toMatchObject([
    { severity: 'warning', message: expect.stringMatching(/^most of the budget of \$100.00/), advice: fix.message },
  ])
})
