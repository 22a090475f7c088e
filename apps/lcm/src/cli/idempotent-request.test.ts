import { UnreachableError } from '@lcm/client/client'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { askedOnce } from './idempotent-request.ts'

const LOST = new UnreachableError('the connection broke')
const REFUSED = new UnreachableError('no response', { cause: Object.assign(new Error('no'), { code: 'ECONNREFUSED' }) })
const answer = (status: number, code = ''): ApiResponse => ({ status, headers: {}, body: JSON.stringify({ code }) })

const UNDER_WAY: ApiResponse = { ...answer(409, 'idempotency_in_progress'), headers: { 'retry-after': '30' } }

/** Answers one after another, the last of them again and again. */
function sending(...outcomes: readonly (ApiResponse | Error)[]) {
  const clock = manualClock()
  const sent: ApiRequest[] = []
  let keysGiven = 0
  const newKey = () => {
    keysGiven += 1
    return `key-${keysGiven}`
  }
  const shell = { clock, newKey }
  const dispatch = askedOnce(async request => {
    const outcome = outcomes[Math.min(sent.length, outcomes.length - 1)]
    sent.push(request)
    if (outcome instanceof Error || outcome === undefined) throw outcome
    return outcome
  }, shell)
  const send = async (method = 'POST') => {
    const request = { method, url: '/api/v1/workers', headers: {}, body: null, signal: new AbortController().signal }
    const outcome = dispatch(request).catch((error: unknown) => error)
    await clock.advance(60_000)
    return outcome
  }
  const keys = () => new Set(sent.map(({ headers }) => headers['idempotency-key']))
  return { send, sent, keys }
}

it('retries a possibly lost request with the same key', async () => {
  const { send, sent, keys } = sending(LOST, REFUSED, answer(409, 'idempotency_in_progress'), answer(201))
  expect(await send()).toMatchObject({ status: 201 })
  expect([sent.length, keys().size, keys().has(undefined)]).toEqual([4, 1, false])
})

it('reports an unknown outcome after the last attempt', async () => {
  const { send, sent } = sending(LOST, REFUSED)
  expect(await send()).toBe(LOST)
  expect(sent).toHaveLength(5)
})

it('retries longer than the 30 s for which a crashed API reports the request as in progress', async () => {
  const sentAtMs: number[] = []
  const clock = manualClock()
  const dispatch = askedOnce(
    async () => {
      sentAtMs.push(clock.monotonic())
      if (sentAtMs.length === 1) throw LOST
      return clock.monotonic() < 30_000 ? UNDER_WAY : answer(201)
    },
    { clock, newKey: () => 'key' },
  )
  const { signal } = new AbortController()
  const outcome = dispatch({ method: 'POST', url: '/api/v1/workers', headers: {}, body: null, signal })
  await clock.advance(60_000)
  expect(await outcome).toMatchObject({ status: 201 })
  expect(sentAtMs.slice(0, 4)).toEqual([0, 500, 4_500, 8_500])
})

it('reports that the request may have succeeded when it stays in progress', async () => {
  const { send, sent, keys } = sending(LOST, UNDER_WAY)
  expect(await send()).toMatchObject({
    exitCode: 6,
    advice: 'check whether it was done before you repeat it',
  })
  expect([sent.length, keys().size]).toEqual([13, 1])
})

it('uses a new key for every request', async () => {
  const { send, keys } = sending(answer(201))
  await send()
  await send()
  expect(keys().size).toBe(2)
})

it.each([
  ['what was answered', 'POST', answer(409, 'name_taken')],
  ['what was never sent', 'POST', REFUSED],
  ['what only reads', 'GET', LOST],
])('does not retry %s', async (_, method, outcome) => {
  const { send, sent } = sending(outcome)
  expect(await send(method)).toBe(outcome)
  expect(sent).toHaveLength(1)
})
