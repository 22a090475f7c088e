import { aSession } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import {
  canMoveSession,
  isEndUnserved,
  isFinal,
  isLive,
  LabletSession,
  SESSION_STATUSES,
  type SessionStatus,
  sessionMovesFrom,
} from './lablet-session.ts'

describe('the lifecycle of a session', () => {
  it.each<[SessionStatus, SessionStatus[]]>([
    ['PENDING', ['SCHEDULED', 'EXPIRED', 'TERMINATED']],
    ['SCHEDULED', ['INSTANTIATING', 'PENDING', 'EXPIRED', 'TERMINATED']],
    ['INSTANTIATING', ['READY', 'PENDING', 'STOPPING', 'EXPIRED']],
    ['READY', ['RUNNING', 'PENDING', 'STOPPING', 'EXPIRED']],
    ['RUNNING', ['PENDING', 'STOPPING', 'EXPIRED']],
    ['EXPIRED', ['STOPPING', 'TERMINATED']],
    ['STOPPING', ['STOPPED']],
    ['STOPPED', ['ARCHIVED', 'TERMINATED']],
    ['ARCHIVED', []],
    ['TERMINATED', []],
  ])('leads from %s to %s', (from, to) => {
    expect(sessionMovesFrom(from)).toEqual(to)
    expect(SESSION_STATUSES.filter(status => canMoveSession(from, status)).sort()).toEqual([...to].sort())
  })

  it('D-4: an expired session continues to its end, and a waiting session can expire', () => {
    expect(isFinal('EXPIRED')).toBe(false)
    for (const status of ['PENDING', 'SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING'] as const)
      expect(canMoveSession(status, 'EXPIRED'), status).toBe(true)
  })

  it('ends in ARCHIVED or TERMINATED, and can end from every status', () => {
    expect(SESSION_STATUSES.filter(isFinal)).toEqual(['ARCHIVED', 'TERMINATED'])
    for (const status of SESSION_STATUSES) expect(reachable(status).some(isFinal), status).toBe(true)
  })

  it('D-3: has no way past the teardown once there may be a lab', () => {
    for (const status of ['INSTANTIATING', 'READY', 'RUNNING', 'STOPPING'] as const)
      for (const end of ['ARCHIVED', 'TERMINATED'] as const) expect(canMoveSession(status, end), status).toBe(false)
  })

  const reachable = (from: SessionStatus): SessionStatus[] => {
    const seen = new Set([from])
    for (const status of seen) for (const next of sessionMovesFrom(status)) seen.add(next)
    return [...seen]
  }
})

it('has statuses with a worker', () => {
  const live = ['SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING', 'STOPPING', 'EXPIRED']
  expect(SESSION_STATUSES.filter(isLive)).toEqual(live)
})

it('has sessions whose end is requested and has not begun', () => {
  const unserved = ['PENDING', 'SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING']
  expect(SESSION_STATUSES.filter(status => isEndUnserved(status, 'TERMINATED'))).toEqual(unserved)
  expect(SESSION_STATUSES.filter(status => isEndUnserved(status, 'RUNNING'))).toEqual([])
})

it('is accepted by its own schema', () => {
  expect(LabletSession.parse(aSession())).toEqual(aSession())
})
