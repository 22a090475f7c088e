import { manualClock } from '@lcm/testkit/manual-clock'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { expect, it } from 'vitest'
import { EtcdError } from './errors.ts'
import { healthTracker } from './health-tracker.ts'

function aBook(...endpoints: readonly string[]) {
  const clock = manualClock()
  const logger = recordingLogger()
  return { clock, logger, book: healthTracker(endpoints, clock, logger) }
}

const unreachable = (endpoint = 'a:1') => new EtcdError('etcd_unreachable', endpoint, 'refused')
const full = new EtcdError('etcd_no_space', 'a:1', 'quota')
const denied = new EtcdError('etcd_permission_denied', 'a:1', 'no')

it('starts unknown and is healthy after the first success', () => {
  const { book } = aBook('a:1')
  expect(book.health()).toEqual({
    state: 'starting',
    problem: null,
    endpoints: [{ endpoint: 'a:1', reachable: null, error: null }],
  })
  book.answered('a:1')
  book.done('status')
  expect(book.health()).toMatchObject({ state: 'healthy', endpoints: [{ reachable: true }] })
})

it('is unhealthy with a message and a date until the failed call works again', async () => {
  const { book, clock, logger } = aBook('a:1')
  book.failed('read', unreachable())
  await clock.advance(10_000)
  book.failed('read', unreachable())
  expect(book.health()).toMatchObject({
    state: 'unhealthy',
    problem: { code: 'etcd_unreachable', since: '2026-01-01T00:00:00.000Z' },
  })
  book.done('status')
  expect(book.health()).toMatchObject({ state: 'healthy', problem: null })
  expect(logger.lines.map(({ level }) => level)).toEqual(['error', 'info'])
})

it('logs a lasting problem once a minute, not with every call', async () => {
  const { book, clock, logger } = aBook('a:1')
  for (let second = 0; second < 130; second += 1) {
    book.failed('write', unreachable())
    await clock.advance(1_000)
  }
  expect(logger.messages('error')).toHaveLength(3)
  expect(book.health().problem?.since).toBe('2026-01-01T00:00:00.000Z')
})

it('reports a changed problem at once, and logs it when it lasts', async () => {
  const { book, clock, logger } = aBook('a:1')
  const slow = new EtcdError('etcd_slow', 'a:1', 'no answer')
  for (let second = 0; second < 12; second += 1) {
    book.failed('write', second % 2 === 0 ? unreachable() : slow)
    await clock.advance(1_000)
  }
  expect(book.health().problem).toMatchObject({ code: 'etcd_slow', since: '2026-01-01T00:00:00.000Z' })
  expect(logger.messages('error')).toHaveLength(2)
})

it('does not take a read for proof that writes work', () => {
  const { book } = aBook('a:1')
  book.failed('write', denied)
  book.done('read')
  book.done('status')
  expect(book.health().problem?.code).toBe('etcd_permission_denied')
  book.done('write')
  expect(book.health().problem).toBeNull()
})

it('detects by alarms alone that etcd is no longer full', () => {
  const { book } = aBook('a:1')
  book.failed('write', full)
  book.done('read')
  expect(book.health().problem?.code).toBe('etcd_no_space')
  book.done('status')
  expect(book.health().state).toBe('healthy')
})

it('reports one unreachable member while the others work', () => {
  const { book, logger } = aBook('a:1', 'b:2')
  book.missed(unreachable('b:2'))
  book.missed(unreachable('b:2'))
  book.answered('a:1')
  book.done('read')
  expect(book.health()).toMatchObject({
    state: 'healthy',
    endpoints: [{ reachable: true }, { endpoint: 'b:2', reachable: false, error: expect.stringContaining('b:2') }],
  })
  book.answered('b:2')
  expect(logger.lines.map(({ level }) => level)).toEqual(['warn', 'info'])
})
