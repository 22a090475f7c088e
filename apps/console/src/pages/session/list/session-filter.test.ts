import { aSession } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { parseHash } from '../../../state/router.ts'
import { filterOf, isDrawn, isFiltering, isListed, matches, NO_FILTER, sessionsHash } from './session-filter.ts'

const readBack = (hash: string) => {
  const route = parseHash(hash)
  return 'query' in route ? filterOf(route.query) : null
}

it('keeps a filter through a round trip', () => {
  const filter = {
    statuses: ['PENDING', 'RUNNING'],
    isMine: true,
    health: 'DEGRADED',
    definition: 'two-routers',
    text: 'a&b=c #1',
    range: '7d',
    atMs: Date.parse('2026-01-02T03:00:00.000Z'),
  } as const
  expect(readBack(sessionsHash(filter))).toEqual(filter)
  expect(sessionsHash(NO_FILTER)).toBe('#/sessions')
  expect(readBack('#/sessions')).toEqual(NO_FILTER)
})

it('drops what does not exist', () => {
  expect(filterOf({ status: 'RUNNING,NONSENSE', range: 'constructor', at: 'soon', mine: 'no' })).toEqual({
    ...NO_FILTER,
    statuses: ['RUNNING'],
  })
})

it('finds a session by id, definition, user, reservation and worker', () => {
  const session = aSession({
    id: 'ls-77',
    worker_id: 'w-1',
    reservation_id: 'R-9',
    owner: 'token:1',
    desired_by: 'Ann',
  })
  const found = (more: Partial<typeof NO_FILTER>) =>
    matches(session, { ...NO_FILTER, ...more }, { me: 'token:1', workerName: () => 'metal-1' })
  expect(['LS-77', 'two-r', ' ann ', 'r-9', 'metal', 'token:'].map(text => found({ text }))).toEqual(
    Array(6).fill(true),
  )
  expect([found({ text: 'other' }), found({ definition: 'one-router' }), found({ health: 'DOWN' })]).toEqual(
    Array(3).fill(false),
  )
  expect(found({ isMine: true, definition: 'two-routers' })).toBe(true)
  expect(matches(session, { ...NO_FILTER, isMine: true }, { me: 'token:2', workerName: id => id })).toBe(false)
})

it('finds a session by its owner, even after another user canceled it', () => {
  const session = aSession({ owner: 'oidc:8c1f', owner_name: 'Ann', desired_by: 'operator' })
  expect(matches(session, { ...NO_FILTER, text: 'ann' }, { me: '', workerName: id => id })).toBe(true)
})

it('lists finished sessions only when selected, and always draws them', () => {
  const over = aSession({ status: 'ARCHIVED' })
  const running = { ...NO_FILTER, statuses: ['RUNNING'] as const }
  const archived = { ...NO_FILTER, statuses: ['ARCHIVED'] as const }
  expect([NO_FILTER, running, archived].map(filter => isListed(over, filter))).toEqual([false, false, true])
  expect([NO_FILTER, running, archived].map(filter => isDrawn(over, filter))).toEqual([true, false, true])
  expect([NO_FILTER, archived, { ...NO_FILTER, range: '7d' as const }].map(isFiltering)).toEqual([false, true, false])
})
