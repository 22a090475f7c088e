import { getEventListeners } from 'node:events'
import { apiClient } from '@lcm/client/client'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import { DecisionNote } from '@lcm/domain/journal-records'
import { type Reason, reason, textReason } from '@lcm/domain/reason'
import { silentLogger } from '@lcm/runtime'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type DecisionLog, decisionLog } from './decision-log.ts'

let clock: ReturnType<typeof manualClock>
let sent: { epoch: number; decisions: { id: string; resource: string; because: Reason }[] }[]
let isDown: boolean
let log: DecisionLog
let stop: AbortController
let ended: Promise<void>

const api = async (request: ApiRequest): Promise<ApiResponse> => {
  if (isDown) throw new Error('connection refused')
  sent.push(JSON.parse(request.body ?? ''))
  return { status: 204, headers: {}, body: null }
}

beforeEach(() => {
  clock = manualClock()
  sent = []
  isDown = false
  stop = new AbortController()
  log = decisionLog({ client: apiClient(api), clock, logger: silentLogger, instanceId: 'one' })
  ended = log.service.run(stop.signal)
})
afterEach(async () => {
  stop.abort()
  await ended
})

const note = (action: string, because: string): DecisionNote =>
  DecisionNote.parse({ action, because: textReason(because) })
const reasons = () => sent.flatMap(({ decisions }) => decisions.map(({ because }) => because.message))

it('sends each decision with its own id and term', async () => {
  log.note('worker:w-1', 3, note('stop', 'it is idle'))
  log.note('worker:w-2', 4, note('stop', 'it is idle'))
  await clock.advance(1_000)
  expect(sent.map(({ epoch, decisions }) => [epoch, decisions.map(each => each.resource)])).toEqual([
    [3, ['worker:w-1']],
    [4, ['worker:w-2']],
  ])
  expect(new Set(sent.flatMap(({ decisions }) => decisions.map(each => each.id))).size).toBe(2)
})

it('records a wait again only when its reason changes in more than numbers', async () => {
  for (const minutes of [6, 5, 4]) log.note('worker:w-1', 1, note('wait', `it boots, ${minutes} min left`))
  log.note('worker:w-1', 1, note('wait', 'CML is not ready'))
  log.note('worker:w-1', 1, note('wait', 'it boots, 3 min left'))
  for (let i = 0; i < 2; i += 1) log.note('worker:w-1', 1, note('start', 'a user requested it'))
  await clock.advance(1_000)
  expect(reasons()).toEqual([
    'it boots, 6 min left',
    'CML is not ready',
    'it boots, 3 min left',
    'a user requested it',
    'a user requested it',
  ])
})

it('records a wait again when it is for another worker, also in the cause of its reason', async () => {
  const down = (worker: string) => reason('worker_status', { worker, status: 'STARTING' })
  const wait = (because: Reason) => log.note('session:ls-1', 1, DecisionNote.parse({ action: 'wait', because }))
  for (const worker of ['nested-1', 'nested-1', 'nested-2']) wait(down(worker))
  for (const worker of ['nested-2', 'nested-3']) wait(reason('session_placed_again', { cause: down(worker) }))
  await clock.advance(1_000)
  expect(reasons()).toEqual([
    down('nested-1').message,
    down('nested-2').message,
    reason('session_placed_again', { cause: down('nested-2') }).message,
    reason('session_placed_again', { cause: down('nested-3') }).message,
  ])
})

it('records no wait for a reason that a write or an action has just recorded', async () => {
  log.written('worker:w-1', textReason('its boot is at stage 2 of 6'))
  log.note('worker:w-1', 1, note('wait', 'its boot is at stage 2 of 6'))
  log.note('worker:w-1', 1, note('stop', 'it is idle'))
  log.note('worker:w-1', 1, note('wait', 'it is idle'))
  log.note('worker:w-2', 1, note('wait', 'its boot is at stage 2 of 6'))
  await clock.advance(1_000)
  expect(
    sent.flatMap(({ decisions }) => decisions.map(({ resource, because }) => [resource, because.message])),
  ).toEqual([
    ['worker:w-1', 'it is idle'],
    ['worker:w-2', 'its boot is at stage 2 of 6'],
  ])
})

it('sends nothing without decisions, and continues after a failure', async () => {
  await clock.advance(10_000)
  expect(sent).toEqual([])
  isDown = true
  log.note('worker:w-1', 1, note('stop', 'lost'))
  await clock.advance(1_000)
  isDown = false
  log.note('worker:w-1', 1, note('stop', 'heard'))
  await clock.advance(1_000)
  expect(reasons()).toEqual(['heard'])
})

it('sends the remaining decisions at its end', async () => {
  log.note('worker:w-1', 1, note('stop', 'it is idle'))
  stop.abort()
  await ended
  expect(reasons()).toEqual(['it is idle'])
})

it('keeps at most one request full of decisions', async () => {
  for (let i = 0; i < 1_500; i += 1) log.note(`worker:w-${i}`, 1, note('stop', `because ${i}`))
  await clock.advance(1_000)
  expect(reasons()).toHaveLength(1_000)
  expect(reasons().at(-1)).toBe('because 1499')
})

it('leaves no listeners on the signal', async () => {
  for (let n = 0; n < 20; n += 1) {
    log.note('worker:w-1', 3, note('stop', `for the ${'n'.repeat(n + 1)}th time`))
    await clock.advance(2_000)
  }
  expect(reasons()).toHaveLength(20)
  expect(getEventListeners(stop.signal, 'abort').length).toBeLessThanOrEqual(2)
})
