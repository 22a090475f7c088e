/** Parts of the paths of the longest files. They start first, so that no core waits for the other at the end. */
export const LONGEST = [
  '/runs/six-hours.test',
  '/crashes/',
  '/failover',
  '/chaos.e2e.test',
  '/sqlite/store.test',
  '/sqlite/group-commit.test',
  '/worker/decide.test',
  '/lablet/crash.test',
]
