import { apiClient } from '@lcm/client/client'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import { localCoordination } from '@lcm/coordination/local/coordination'
import { silentLogger } from '@lcm/runtime'
import { manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, expect, it } from 'vitest'
import { registeredElection } from './registered-election.ts'

let clock: ReturnType<typeof manualClock>
let answers: number[]
let asked: ApiRequest[]
let coordination: ReturnType<typeof localCoordination>

beforeEach(() => {
  clock = manualClock()
  answers = []
  asked = []
  coordination = localCoordination({ clock, firstEpoch: () => 1 })
})

const api = async (request: ApiRequest): Promise<ApiResponse> => {
  asked.push(request)
  const status = answers.shift() ?? 200
  const code = status === 409 ? 'stale_leader' : 'store_unavailable'
  return {
    status,
    headers: {},
    body: JSON.stringify(status === 200 ? {} : { type: '', title: '', status, detail: '', code }),
  }
}

const contender = (id: string) =>
  registeredElection({
    election: coordination.election('worker-controller', id),
    service: 'worker-controller',
    client: apiClient(api),
    clock,
    logger: silentLogger,
  })

it('leads only once the API has registered its term', async () => {
  answers = [503, 503]
  let led = false
  void contender('a')
    .campaign(new AbortController().signal)
    .then(() => {
      led = true
    })
  await clock.advance(1_500)
  expect([led, asked.length]).toEqual([false, 2])
  await clock.advance(1_000)
  expect([led, asked.length]).toEqual([true, 3])
  expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ epoch: 1, instance_id: 'a' })
})

it('reports an epoch that is too low, and leads once the term was reset', async () => {
  answers = [409, 409]
  const election = contender('a')
  const campaign = election.campaign(new AbortController().signal)
  await clock.advance(500)
  expect(election.isEpochRegressed()).toBe(true)
  await clock.advance(3_000)
  expect((await campaign)?.isHeld()).toBe(true)
  expect(election.isEpochRegressed()).toBe(false)
})

it('reports no epoch that is too low while it is a standby', async () => {
  answers = Array.from({ length: 100 }, () => 409)
  const election = contender('a')
  const stopping = new AbortController()
  const campaign = election.campaign(stopping.signal)
  await clock.advance(500)
  expect(election.isEpochRegressed()).toBe(true)
  stopping.abort()
  await clock.advance(3_000)
  await campaign
  expect(election.isEpochRegressed()).toBe(false)
})

it('resigns when it is stopped before its term was registered', async () => {
  answers = Array.from({ length: 100 }, () => 503)
  const stop = new AbortController()
  const campaign = contender('a').campaign(stop.signal)
  await clock.advance(500)
  stop.abort()
  await clock.advance(2_000)
  expect(await campaign).toBeNull()
  answers = []
  expect(await contender('b').campaign(new AbortController().signal)).not.toBeNull()
})

it('ends and resigns when it is asked to, also while the API does not answer', async () => {
  const stop = new AbortController()
  const silent = registeredElection({
    election: coordination.election('worker-controller', 'a'),
    service: 'worker-controller',
    client: apiClient(
      ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    ),
    clock,
    logger: silentLogger,
  })
  let ended: unknown = 'not yet'
  void silent.campaign(stop.signal).then(outcome => {
    ended = outcome
  })
  await clock.advance(500)
  stop.abort()
  await clock.advance(1)
  expect(ended).toBeNull()
  expect(silent.status().state).not.toBe('LEADER')
})
