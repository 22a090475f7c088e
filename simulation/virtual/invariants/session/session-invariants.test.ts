import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { heldFrom } from '@lcm/domain/calendar/worker-ledger'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { textReason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { NOTHING_RESERVED } from '@lcm/domain/worker/worker-field-schemas'
import { manualClock } from '@lcm/testkit/manual-clock'
import { aLabRecord, aSession, aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { disturbances } from '../../world/disturbances.ts'
import { eventFollower } from '../../world/event-follower.ts'
import { settingsHistory } from '../settings-history.ts'
import { sessionInvariants } from './session-invariants.ts'

const NO_PROMISES = { changed: () => [], step: () => [], starting: () => [] }

function openInvariants() {
  const clock = manualClock()
  const found: string[] = []
  const following = eventFollower()
  const cloud = openSimModel({ seed: 1, clock })
  const violated = (rule: string) => void found.push(rule)
  const settings = settingsHistory(clock.now)
  const parts = {
    cloud,
    following,
    clock,
    labsCountedMs: 1000,
    settings,
    templates: [],
    violated,
    disturbances: disturbances(clock),
    promises: NO_PROMISES,
  }
  return { found, following, clock, settings, ...sessionInvariants(parts) }
}

const SHARE = { cpu_cores: 2, memory_gb: 4, storage_gb: 10, nodes: 2 }
const since = '2026-01-02T03:04:05.000Z'
const declared = { cpu_cores: 3, memory_gb: 192, storage_gb: 200, max_nodes: 100 }
const holding = (count: number): Worker => {
  const reservations = Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`ls-${n}`, { ...SHARE, ...heldFrom(since) }] as const),
  )
  const reserved = count === 0 ? NOTHING_RESERVED : mapped(SHARE, each => each * count)
  return aWorker({ name: 'metal-1', reservations, capacity: { declared, reserved } })
}
const mapped = (share: typeof SHARE, change: (each: number) => number): typeof SHARE => ({
  cpu_cores: change(share.cpu_cores),
  memory_gb: change(share.memory_gb),
  storage_gb: change(share.storage_gb),
  nodes: change(share.nodes),
})

it.each<[string, Worker, Worker | undefined, RegExp]>([
  ['more than there is', holding(2), undefined, /has 4 of 3 cpu_cores reserved/],
  ['a wrong sum', { ...holding(1), capacity: holding(0).capacity }, undefined, /and its book 2/],
  ['a port twice', aWorker({ ports: { a: { R1: 2000 }, b: { R1: 2000 } } }), undefined, /a port twice/],
  [
    'an idle stop of a worker in use',
    { ...holding(1), desired_status: 'STOPPED', desired_by: 'idle' },
    { ...holding(1), desired_status: 'RUNNING', desired_by: 'ann' },
    /stopped as idle with ls-0/,
  ],
])('%s is found', (_, worker, before, rule) => {
  const { handlers, found } = openInvariants()
  handlers.worker(worker, before)
  expect(found).toEqual(expect.arrayContaining([expect.stringMatching(rule)]))
})

it('a booking beyond the quota of its owner is found, and one within it is not', async () => {
  const { handlers, following, settings, clock, found } = openInvariants()
  const at = new Date(clock.now()).toISOString()
  const end = new Date(clock.now() + 60_000).toISOString()
  const book = (id: string, more: Partial<LabletSession> = {}) => {
    const session = aSession({ id, owner: 'ada', created_at: at, timeslot: { start: at, end }, ...more })
    following.sessions.set(id, session)
    handlers.session(session, undefined)
  }
  for (const id of ['ls-1', 'ls-2', 'ls-3']) book(id)
  following.sessions.clear()
  settings.record({ quota_user_live_sessions: 2 })('accepted')
  await clock.advance(1)
  for (const id of ['ls-4', 'ls-5']) book(id, { created_at: new Date(clock.now()).toISOString() })
  for (const id of ['ls-6', 'ls-7']) book(id, { owner: 'bob', desired_status: 'TERMINATED' })
  expect(found).toEqual([])
  book('ls-8', { created_at: new Date(clock.now()).toISOString() })
  expect(found).toEqual(['ada has 3 sessions, and quota_user_live_sessions is 2'])
})

it('a worker within its limits violates nothing', () => {
  const { handlers, found } = openInvariants()
  handlers.worker(holding(1), holding(0))
  handlers.worker({ ...holding(0), desired_status: 'STOPPED', desired_by: 'idle' }, holding(0))
  expect(found).toEqual([])
})

it('an illegal transition and a session that does not end are found', async () => {
  const { handlers, found, following, clock, step } = openInvariants()
  const session = aSession({ status: 'RUNNING' })
  const moves = (['PENDING', 'SCHEDULED', 'RUNNING'] as const).map((to, n, all) => {
    return { from: all[n - 1] ?? null, to, at: since, because: textReason('') }
  })
  handlers.session({ ...session, state_history: moves }, undefined)
  expect(found).toEqual(['ls-1 moved from SCHEDULED to RUNNING while it was SCHEDULED'])
  const end = new Date(clock.now()).toISOString()
  following.sessions.set('ls-1', { ...session, timeslot: { start: end, end } })
  await clock.advance(10 * 60_000)
  step()
  expect(found).toHaveLength(1)
  await clock.advance(24 * 3_600_000)
  step()
  expect(found.at(-1)).toBe('ls-1 does not end')
})

const WAITING = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, node_count: 2 }
const bought = (id: string, created_at: string, wanted_by: string[]): Worker =>
  aWorker({
    id,
    name: id,
    created_at,
    wanted_by,
    origin: 'SCALE_UP',
    state_history: [{ from: null, to: 'PENDING', at: created_at, because: textReason('') }],
    capacity: { declared: { ...declared, cpu_cores: 48 }, reserved: NOTHING_RESERVED },
  })

it.each<[string, readonly Worker[], RegExp | null]>([
  ['one worker for two sessions that fit', [bought('w-1', since, ['ls-1', 'ls-2'])], null],
  [
    'two workers for two sessions that fit into one',
    [bought('w-1', since, ['ls-1', 'ls-2']), bought('w-2', since, ['ls-1', 'ls-2'])],
    /^2 metal\/us-east-1 are created for sessions that need at most 1$/,
  ],
  [
    'two workers for three sessions that do not fit into one',
    [bought('w-1', since, ['ls-1', 'ls-2', 'ls-3']), bought('w-2', since, ['ls-1', 'ls-2', 'ls-3'])],
    null,
  ],
  [
    'a second batch while the first is starting',
    [bought('w-1', since, ['ls-1']), bought('w-2', '2026-01-02T04:00:00.000Z', ['ls-1'])],
    /^w-2 is created while w-1 are starting$/,
  ],
  [
    'a second batch after the first has failed',
    [
      {
        ...bought('w-1', since, ['ls-1']),
        state_history: [{ from: 'PENDING', to: 'FAILED', at: since, because: textReason('') }],
      },
      bought('w-2', '2026-01-02T04:00:00.000Z', ['ls-1']),
    ],
    null,
  ],
])('%s', (_, workers, rule) => {
  const { handlers, found, following } = openInvariants()
  for (const id of ['ls-1', 'ls-2', 'ls-3']) following.sessions.set(id, aSession({ id, needs: WAITING }))
  for (const worker of workers) {
    handlers.worker(worker, undefined)
    following.workers.set(worker.id, worker)
  }
  expect(found).toEqual(rule === null ? [] : [expect.stringMatching(rule)])
})

it.each<[string, Worker['status'], Partial<LabRecord> | null, boolean]>([
  ['a worker that runs', 'RUNNING', { status: 'BOOTED' }, false],
  ['a stopped worker whose lab was last seen running', 'STOPPED', { status: 'BOOTED' }, true],
  ['a failed worker whose lab was last seen running', 'FAILED', { status: 'BOOTED' }, true],
  ['a stopped worker whose lab was seen gone', 'STOPPED', { status: 'DELETED' }, false],
  ['a stopped worker without a lab', 'STOPPED', null, false],
  [
    'a stopped worker with a lab of another session',
    'STOPPED',
    { status: 'BOOTED', session_id: 'ls-9', id: 'lr-9' },
    false,
  ],
  ['a stopped worker whose lab is on another one', 'STOPPED', { status: 'BOOTED', worker_id: 'w-9' }, false],
])('capacity and ports kept by %s', (_, status, lab, isExcused) => {
  const { following, leftovers } = openInvariants()
  const worker = { ...holding(1), status, ports: { 'lr-1': { R1: 2000 } } }
  following.workers.set(worker.id, worker)
  following.sessions.set('ls-0', aSession({ id: 'ls-0', status: 'ARCHIVED' }))
  const own = { id: 'lr-1', lab_id: 'lab-1', worker_id: worker.id, session_id: 'ls-0' }
  if (lab !== null) following.labs.set(lab.id ?? 'lr-1', aLabRecord({ ...own, ...lab }))
  const kept = ['metal-1 keeps capacity for ls-0, ARCHIVED', 'metal-1 keeps ports for lr-1']
  expect(leftovers()).toEqual(isExcused ? [] : kept)
})
