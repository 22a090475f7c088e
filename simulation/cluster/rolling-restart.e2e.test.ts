import { afterAll, beforeAll, it } from 'vitest'
import { type OpenRollingCluster, onSqlite } from './clusters/rolling-restart-clusters.ts'
import { expectNothingLost } from './rolling-restart-loses-nothing.ts'

const LIMIT_MS = 180_000

let setup: OpenRollingCluster
beforeAll(async () => {
  setup = await onSqlite({ leaseTtlSeconds: 5 })
}, LIMIT_MS)
afterAll(() => setup.close(), LIMIT_MS)

it(
  'loses nothing while every service is restarted, with SIGTERM and then with SIGKILL',
  {
    timeout: LIMIT_MS,
  },
  () => expectNothingLost(setup, 8),
)
