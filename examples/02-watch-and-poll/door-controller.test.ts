import { localCoordination } from '@lcm/coordination/local/coordination'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { doorController, doorStore } from './door-controller.ts'

async function aHouse() {
  const clock = manualClock()
  const { election, changeKeys, faults } = localCoordination({ clock, firstEpoch: () => 1 })
  const store = doorStore(changeKeys, clock)
  const stop = new AbortController()
  const instance = (id: string) =>
    doorController({ clock, changeKeys, store, election: election('door-controller', id) })
  const over = Promise.all([instance('a').run(stop.signal), instance('b').run(stop.signal)])
  await clock.advance(60_000)
  const close = async () => {
    stop.abort()
    await Promise.all([over, clock.advance(20_000)])
  }
  return { clock, store, faults, close, statusOf: (id: string) => store.doors.get(id)?.status }
}

it('acts immediately on a change, and again when its requeue is due', async () => {
  const { clock, store, statusOf, close } = await aHouse()
  await store.put('front', { desired: 'OPEN' })
  await clock.advance(0)
  expect(statusOf('front')).toBe('MOVING')
  await clock.advance(3_999)
  expect(statusOf('front')).toBe('MOVING')
  await clock.advance(1)
  expect(statusOf('front')).toBe('OPEN')
  await close()
})

it('finds a change that the watch missed at the next poll', async () => {
  const { clock, store, faults, statusOf, close } = await aHouse()
  faults.setDelivery(() => ({ copies: 0 }))
  await store.put('front', { desired: 'OPEN' })
  await clock.advance(1_000)
  expect(statusOf('front')).toBe('SHUT')
  await clock.advance(34_000)
  expect(statusOf('front')).toBe('OPEN')
  await close()
})

it('continues on the other replica when the leader is lost during a move', async () => {
  const { clock, store, faults, statusOf, close } = await aHouse()
  await store.put('front', { desired: 'OPEN' })
  await clock.advance(100)
  faults.loseLease('door-controller')
  await clock.advance(10_000)
  expect(statusOf('front')).toBe('OPEN')
  await close()
})
