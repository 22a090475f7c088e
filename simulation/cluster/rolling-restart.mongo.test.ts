import { afterAll, beforeAll, it } from 'vitest'
import { type OpenRollingCluster, onMongo } from './clusters/rolling-restart-clusters.ts'
import { expectNothingLost } from './rolling-restart-loses-nothing.ts'

const LIMIT_MS = 600_000

let setup: OpenRollingCluster
beforeAll(async () => {
  setup = await onMongo()
}, LIMIT_MS)
afterAll(() => setup.close(), LIMIT_MS)

it(
  'loses nothing while every service is restarted, including two APIs, with SIGTERM and then with SIGKILL',
  {
    timeout: LIMIT_MS,
  },
  () => expectNothingLost(setup, 20),
)
