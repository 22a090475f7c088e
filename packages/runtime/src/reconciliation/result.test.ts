import { expect, it } from 'vitest'
import { gone, requeue, retry, skip, success } from './result.ts'

it('makes the four results and the one that says a resource is gone', () => {
  const error = new Error('no')
  expect([
    success(),
    success('made'),
    requeue('soon', 5),
    retry('no', error),
    skip('not ours'),
    gone('deleted'),
  ]).toEqual([
    { status: 'SUCCESS' },
    { status: 'SUCCESS', message: 'made' },
    { status: 'REQUEUE', message: 'soon', afterMs: 5 },
    { status: 'RETRY', message: 'no', error },
    { status: 'SKIP', message: 'not ours' },
    { status: 'SKIP', message: 'deleted', isGone: true },
  ])
})
