import { afterAll, beforeAll, it } from 'vitest'
import { type OpenRollingCluster, onSqlite } from './clusters/rolling-clusters.ts'
import { expectNothingLost } from './expect-nothing-lost.ts'

const LIMIT_MS = 180_000

let place: OpenRollingCluster
beforeAll(async () => {
  place = await onSqlite({ leaseTtlSeconds: 5 })
}, LIMIT_MS)
afterAll(() => place.close(), LIMIT_MS)

it(
  'nothing is lost while every service is restarted, first with a warning and then without',
  {
    timeout: LIMIT_MS,
  },
  () => expectNothingLost(place, 8),
)
