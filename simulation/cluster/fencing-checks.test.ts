import { expect, it } from 'vitest'
import { staleWritesAccepted, termsOutOfOrder } from './fencing-checks.ts'
import type { Exchange } from './processes/api-recording-proxy.ts'

const exchange = (more: Partial<Exchange>): Exchange => ({
  instance: 'a',
  method: 'PATCH',
  path: '/api/v1/workers/w/status',
  epoch: 1,
  isFenced: true,
  body: '',
  beganAt: 0,
  status: 200,
  endedAt: 0,
  ...more,
})
const term = (instance: string, epoch: number, at: number) =>
  exchange({
    instance,
    epoch,
    isFenced: false,
    method: 'PUT',
    path: '/api/v1/services/worker-controller/term',
    beganAt: at,
    endedAt: at + 1,
  })

it('finds an accepted write after the registration of a newer term', () => {
  const stale = exchange({ epoch: 1, beganAt: 20 })
  expect(staleWritesAccepted([term('a', 1, 0), term('b', 2, 10), stale])).toEqual([stale])
})

it('accepts writes that were refused or began before the newer term', () => {
  const early = exchange({ epoch: 1, beganAt: 10, endedAt: 30 })
  const refused = exchange({ epoch: 1, beganAt: 20, status: 409 })
  const own = exchange({ instance: 'b', epoch: 2, beganAt: 20 })
  expect(staleWritesAccepted([term('a', 1, 0), term('b', 2, 10), early, refused, own])).toEqual([])
})

it('finds epochs that decrease or are used by two instances', () => {
  const [a, b, shared] = [term('a', 1, 0), term('b', 2, 10), term('c', 2, 20)]
  expect(termsOutOfOrder([a, b, b])).toEqual([])
  expect(termsOutOfOrder([a, b, shared])).toEqual([shared])
  expect(termsOutOfOrder([b, a])).toEqual([a])
})
