import { expect, it } from 'vitest'
import { gone, requeue, resourceStates, retry, skip, success } from './resource-state.ts'

it('has no state of a key before its first reconcile', () => {
  expect(resourceStates().read('w-1')).toBeUndefined()
})

it('counts failures in a row and resets them with the first other outcome', () => {
  const states = resourceStates()
  const known = states.begin('w-1')
  states.settle(known, retry('no'), 1_000, 500)
  states.settle(known, retry('no'), 2_000, 700)
  expect(states.read('w-1')).toMatchObject({ status: 'FAILED', retry_count: 2, next_retry_at: 2_700 })
  expect(states.retrying).toBe(1)
  states.settle(known, skip('not now'), 3_000)
  expect(states.read('w-1')).toMatchObject({ status: 'PENDING', retry_count: 0, next_retry_at: null })
  expect(states.retrying).toBe(0)
})

it('keeps the time of the last success only', () => {
  const states = resourceStates()
  const known = states.begin('w-1')
  states.settle(known, success(), 1_000)
  states.settle(known, requeue('later', 5), 2_000)
  states.settle(known, retry('no'), 3_000, 5)
  expect(states.read('w-1')?.last_reconciled_at).toBe(1_000)
})

it('reports whether an outcome differs from the last one', () => {
  const states = resourceStates()
  const known = states.begin('w-1')
  const messages = [success(), success('a'), success('a'), requeue('a', 1), requeue('b', 1)]
  expect(messages.map(result => states.settle(known, result, 0))).toEqual([false, true, false, false, true])
})

it('forgets a deleted resource, with its retries', () => {
  const states = resourceStates()
  const known = states.begin('w-1')
  states.settle(known, retry('no'), 0)
  states.settle(known, gone('deleted'), 0)
  expect([states.size, states.retrying]).toEqual([0, 0])
})

it('forgets on demand, with the retries', () => {
  const states = resourceStates()
  states.settle(states.begin('w-1'), retry('no'), 0)
  states.forget('w-1')
  expect([states.size, states.retrying, states.read('w-1')]).toEqual([0, 0, undefined])
})

it('ignores the outcome of a key that was forgotten in the meantime, even if it is known again', () => {
  const states = resourceStates()
  const before = states.begin('w-1')
  states.forget('w-1')
  states.begin('w-1')
  states.settle(before, retry('no'), 0)
  expect([states.read('w-1')?.status, states.retrying]).toEqual(['IN_PROGRESS', 0])
})

it('keeps what a newer listing has seen, even if an older and slower one sees it last', () => {
  const states = resourceStates()
  states.settle(states.begin('k'), retry('no', new Error('no')), 0, 1000)
  const slow = states.openListing()
  const newer = states.openListing()
  newer.mark('k')
  slow.mark('k')
  expect(newer.purge()).toBe(0)
  expect(states.read('k')?.retry_count).toBe(1)
})

it('purges keys after a full listing that were known before and not listed', () => {
  const states = resourceStates()
  for (const key of ['listed', 'missing', 'in hand']) states.begin(key)
  for (const key of ['listed', 'missing']) states.settle(states.begin(key), success(), 0)
  const listing = states.openListing()
  listing.mark('listed')
  states.settle(states.begin('new'), success(), 0)
  expect(listing.purge()).toBe(1)
  expect(['listed', 'missing', 'in hand', 'new'].map(key => states.read(key) !== undefined)).toEqual([
    true,
    false,
    true,
    true,
  ])
})
