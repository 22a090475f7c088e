import { describe, expect, it } from 'vitest'
import { canMove, isTransitional, isWishUnserved, movesFrom, statusOfEc2State } from './lifecycle.ts'
import { WORKER_STATUSES } from './worker.ts'

describe('the lifecycle', () => {
  it('ends in TERMINATED and nowhere else', () => {
    expect(WORKER_STATUSES.filter(status => movesFrom(status).length === 0)).toEqual(['TERMINATED'])
  })

  it('can be ended from every status', () => {
    for (const status of WORKER_STATUSES) {
      if (status === 'TERMINATED') continue
      const way = canMove(status, 'TERMINATED') || canMove(status, 'TERMINATING')
      expect(way, status).toBe(true)
    }
  })

  it('has no way into RUNNING that skips STARTING, but for machines found running and drains that were called off', () => {
    expect(WORKER_STATUSES.filter(status => canMove(status, 'RUNNING'))).toEqual([
      'STARTING',
      'DRAINING',
      'STOPPED',
      'FAILED',
      'UNKNOWN',
    ])
  })

  it('never moves to where it is', () => {
    for (const status of WORKER_STATUSES) expect(canMove(status, status)).toBe(false)
  })

  it('knows what is rest', () => {
    expect(WORKER_STATUSES.filter(status => !isTransitional(status))).toEqual([
      'RUNNING',
      'STOPPED',
      'TERMINATED',
      'FAILED',
      'UNKNOWN',
    ])
  })
})

it.each([
  ['pending', false, 'PROVISIONING'],
  ['pending', true, 'STARTING'],
  ['running', true, 'RUNNING'],
  ['stopping', true, 'STOPPING'],
  ['stopped', true, 'STOPPED'],
  ['shutting-down', true, 'TERMINATING'],
  ['terminated', true, 'TERMINATED'],
  ['hibernating', true, 'UNKNOWN'],
])('maps EC2 %s (ran before: %s) to %s', (state, ranBefore, status) => {
  expect(statusOfEc2State(state, ranBefore)).toBe(status)
})

describe('a request that no status serves yet', () => {
  const unserved = (desired: string) => WORKER_STATUSES.filter(status => isWishUnserved(status, desired))

  it('is one whose worker has not begun to move there', () => {
    expect(unserved('RUNNING')).toEqual(['STOPPING', 'STOPPED', 'TERMINATING', 'TERMINATED'])
    expect(unserved('STOPPED')).not.toContain('STOPPING')
    expect(unserved('STOPPED')).toContain('RUNNING')
    expect(unserved('TERMINATED')).toEqual(WORKER_STATUSES.filter(status => !status.startsWith('TERMINAT')))
  })

  it('is none in words of another version', () => {
    expect(isWishUnserved('RUNNING', 'HIBERNATED')).toBe(false)
    expect(isWishUnserved('', '')).toBe(false)
  })
})
