import { apiClient } from '@lcm/client/client'
import { CHANGE_KEYS } from '@lcm/contract/resource-kinds'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import { localCoordination } from '@lcm/coordination/local/coordination'
import { type Reason, reason, textReason } from '@lcm/domain/reason'
import { HEARTBEAT_INTERVAL_MS, InstanceReport } from '@lcm/domain/service-instance'
import { type Reconciliation, reconciliation, silentLogger, success } from '@lcm/runtime'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Outages, outages } from './dependency-outages.ts'
import { type Heartbeat, heartbeat } from './heartbeat.ts'

const SERVICE = 'worker-controller'
const PLAN = { resource: 'worker:w-1', action: 'wait', because: textReason('it boots'), due_at: null }

let clock: ReturnType<typeof manualClock>
let coordination: ReturnType<typeof localCoordination>
let loop: Reconciliation
let triggered: number
let beats: InstanceReport[]
let counts: { triggers: number; resignations: number }
let isDown: boolean
let wrongByMs: number
let problems: Reason[]
let stop: AbortController
let beating: Heartbeat
let ended: Promise<void>
let silent: Outages

const api = async (request: ApiRequest): Promise<ApiResponse> => {
  if (isDown) throw new Error('connection refused')
  expect(request.url).toBe('/api/v1/services/worker-controller/instances/one')
  beats.push(InstanceReport.parse(JSON.parse(request.body ?? '')))
  return { status: 200, headers: {}, body: JSON.stringify(counts) }
}

beforeEach(() => {
  clock = manualClock()
  coordination = localCoordination({ clock, firstEpoch: () => 1 })
  triggered = 0
  beats = []
  counts = { triggers: 4, resignations: 2 }
  isDown = false
  wrongByMs = 0
  problems = []
  stop = new AbortController()
  const plain = reconciliation({ name: 'workers', clock, triggers: [], reconcile: async () => success('') })
  const triggerNow = () => {
    triggered += 1
    return true
  }
  loop = { ...plain, triggerNow, health: () => ({ ...plain.health(), running: true }) }
})

function start() {
  const election = coordination.election(SERVICE, 'one')
  const { changeKeys } = coordination
  const parts = { service: SERVICE, version: '1.2.3', client: apiClient(api), changeKeys, election, loop } as const
  silent = outages({ clock, logger: silentLogger })
  const shown = { ...clock, now: () => clock.now() + wrongByMs }
  beating = heartbeat({
    ...parts,
    outages: silent,
    plan: () => [PLAN],
    problems: () => problems,
    clock: shown,
    logger: silentLogger,
  })
  ended = beating.run(stop.signal)
  return election
}

afterEach(async () => {
  stop.abort()
  await clock.advance(0)
  await ended
})

it('is sent every few seconds, and at once when leadership changes', async () => {
  const election = start()
  await clock.advance(0)
  expect(beats).toMatchObject([{ is_leader: false, epoch: 0, plan: [], software: '1.2.3' }])
  await clock.advance(HEARTBEAT_INTERVAL_MS)
  expect(beats).toHaveLength(2)
  await election.campaign(stop.signal)
  await clock.advance(500)
  expect(beats.at(-1)).toMatchObject({ is_leader: true, epoch: 1, plan: [PLAN] })
  expect(beats).toHaveLength(3)
})

it('performs each request to the leader once, and none from before it led', async () => {
  const election = start()
  await election.campaign(stop.signal)
  await clock.advance(HEARTBEAT_INTERVAL_MS)
  expect(triggered).toBe(0)
  counts = { triggers: 5, resignations: 2 }
  await clock.advance(3 * HEARTBEAT_INTERVAL_MS)
  expect(triggered).toBe(1)
  expect(election.status().state).toBe('LEADER')
  counts = { triggers: 5, resignations: 3 }
  await clock.advance(HEARTBEAT_INTERVAL_MS)
  expect(election.status().state).not.toBe('LEADER')
})

it('receives a request at once by the change key of its service', async () => {
  const election = start()
  await election.campaign(stop.signal)
  await clock.advance(1_000)
  counts = { triggers: 5, resignations: 2 }
  const hint = { id: SERVICE, version: 7, updated_at: '2026-01-01T00:00:00.000Z' }
  await coordination.changeKeys.publish(CHANGE_KEYS.services + SERVICE, hint)
  await clock.advance(500)
  expect(triggered).toBe(1)
})

it('reports problems within the limits of the API', async () => {
  start()
  await clock.advance(0)
  expect(beats.at(-1)?.problems).toEqual([])
  problems = Array.from({ length: 100 }, () => reason('watch_degraded'))
  await clock.advance(HEARTBEAT_INTERVAL_MS)
  expect(beats.at(-1)?.problems[0]).toEqual(reason('watch_degraded'))
  expect(beats.at(-1)?.problems).toHaveLength(50)
})

it('continues when the API does not answer', async () => {
  isDown = true
  start()
  await clock.advance(2 * HEARTBEAT_INTERVAL_MS)
  isDown = false
  await clock.advance(HEARTBEAT_INTERVAL_MS)
  expect(beats.length).toBeGreaterThan(0)
})

it('keeps its interval when the API clock is set back', async () => {
  start()
  await clock.advance(0)
  wrongByMs = -3_600_000
  await clock.advance(3 * HEARTBEAT_INTERVAL_MS)
  expect(beats).toHaveLength(4)
  expect(beating.failure()).toBeNull()
})

it('reports the error once no heartbeat has succeeded for a while', async () => {
  isDown = true
  start()
  expect(beating.failure()).toBe('it has not answered yet')
  await clock.advance(0)
  expect(beating.failure()).toBe('connection refused')
  isDown = false
  await clock.advance(HEARTBEAT_INTERVAL_MS)
  expect(beating.failure()).toBeNull()
  isDown = true
  await clock.advance(2 * HEARTBEAT_INTERVAL_MS)
  expect(beating.failure()).toBeNull()
  await clock.advance(HEARTBEAT_INTERVAL_MS)
  expect(beating.failure()).toBe('connection refused')
})

it('an API that has not answered for 30 s is a problem, until it answers again', async () => {
  start()
  await clock.advance(0)
  isDown = true
  await clock.advance(HEARTBEAT_INTERVAL_MS + 29_000)
  expect(silent.problems()).toEqual([])
  await clock.advance(2_000)
  expect(silent.problems()).toMatchObject([
    { code: 'dependency_outage', params: { dependency: 'the API', error: 'connection refused' } },
  ])
  isDown = false
  await clock.advance(HEARTBEAT_INTERVAL_MS)
  expect(silent.problems()).toEqual([])
})
