import { describe, expect, it } from 'vitest'
import { LIST_PAGES, pageHash, parseHash, sessionHash, workerHash } from './router.ts'

describe('addresses', () => {
  it('begin at the overview', () => {
    for (const hash of ['', '#', '#/', '#/overview', '#/overview/'])
      expect(parseHash(hash)).toEqual({ page: 'overview', query: {} })
  })

  it('lead to every page', () => {
    for (const page of LIST_PAGES) expect(parseHash(pageHash(page))).toEqual({ page, query: {} })
  })

  it('keep the query in a round trip, without empty values', () => {
    const hash = pageHash('workers', { status: 'RUNNING,FAILED', q: 'a&b=c #1?', sort: '' })
    expect(parseHash(hash)).toEqual({ page: 'workers', query: { status: 'RUNNING,FAILED', q: 'a&b=c #1?' } })
  })

  it('lead to one resource, for any id', () => {
    expect(parseHash(workerHash('w-1/…'))).toEqual({ page: 'worker', id: 'w-1/…', query: {} })
    expect(parseHash(sessionHash('ls-1'))).toEqual({ page: 'session', id: 'ls-1', query: {} })
    expect(parseHash('#/workers/%E0%A4%A')).toMatchObject({ page: 'worker', id: '%E0%A4%A' })
  })

  it('keep the view of one resource', () => {
    expect(parseHash(workerHash('w-1', { range: '7d' }))).toEqual({ page: 'worker', id: 'w-1', query: { range: '7d' } })
    expect(workerHash('w-1', { range: '' })).toBe('#/workers/w-1')
  })

  it('accept a failed login link', () => {
    expect(parseHash('#/sign-in?code=Zk3v')).toEqual({ page: 'sign-in', query: { code: 'Zk3v' } })
  })

  it('are recognized when unknown', () => {
    expect(parseHash('#/nowhere/1')).toEqual({ page: 'unknown', path: 'nowhere/1' })
    for (const hash of ['#/workers/w-1/more', '#/labs/lr-1', '#/toString/x', '#/constructor'])
      expect(parseHash(hash)).toMatchObject({ page: 'unknown' })
  })
})
