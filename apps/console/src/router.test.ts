import { describe, expect, it } from 'vitest'
import { NO_FILTER, parseHash, workerHash, workersHash } from './router.ts'

describe('addresses', () => {
  it('begin at the workers', () => {
    for (const hash of ['', '#', '#/', '#/workers', '#/workers/'])
      expect(parseHash(hash)).toEqual({ page: 'workers', filter: NO_FILTER })
  })

  it('keep a filter through a round trip', () => {
    const filter = { statuses: ['RUNNING', 'FAILED'], text: 'a&b=c #1' } as const
    expect(parseHash(workersHash(filter))).toEqual({ page: 'workers', filter })
  })

  it('drop statuses that do not exist', () => {
    expect(parseHash('#/workers?status=FAILED,NONSENSE')).toMatchObject({ filter: { statuses: ['FAILED'] } })
  })

  it('lead to one worker, whatever its id', () => {
    expect(parseHash(workerHash('w-1/…'))).toEqual({ page: 'worker', id: 'w-1/…' })
    expect(parseHash('#/workers/%E0%A4%A')).toEqual({ page: 'worker', id: '%E0%A4%A' })
  })

  it('take a login link that did not work', () => {
    expect(parseHash('#/login-failed')).toEqual({ page: 'login-failed' })
  })

  it('that lead nowhere are known to', () => {
    expect(parseHash('#/nowhere/1')).toEqual({ page: 'unknown', path: 'nowhere/1' })
    expect(parseHash('#/workers/w-1/more')).toMatchObject({ page: 'unknown' })
  })
})
