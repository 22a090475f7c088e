import { afterAll, beforeAll, it } from 'vitest'
import { type OpenRollingCluster, onMongo } from './clusters/rolling-clusters.ts'
import { expectNothingLost } from './expect-nothing-lost.ts'

const LIMIT_MS = 600_000

let place: OpenRollingCluster
beforeAll(async () => {
  place = await onMongo()
}, LIMIT_MS)
afterAll(() => place.close(), LIMIT_MS)

it(
  'nothing is lost while every service is restarted, two APIs among them, first with a warning and then without',
  {
    timeout: LIMIT_MS,
  },
  () => expectNothingLost(place, 20),
)
