import { expect, it } from 'vitest'
import { isCompacted, WatchCompacted } from './watch-source.ts'

it('recognizes compaction by its code, whichever module created the error', () => {
  const foreign = Object.assign(new Error('mvcc: required revision has been compacted'), { code: 'watch_compacted' })
  expect([new WatchCompacted(7), foreign, new Error('watch_compacted'), undefined].map(isCompacted)).toEqual([
    true,
    true,
    false,
    false,
  ])
})
