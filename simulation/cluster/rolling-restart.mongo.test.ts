import { afterAll, beforeAll, expect, it } from 'vitest'
import { type OpenRollingCluster, onMongo } from './clusters/rolling-restart-clusters.ts'
import { rollingRestart } from './rolling-restart.ts'

const LIMIT_MS = 600_000
const SESSIONS = 20

let setup: OpenRollingCluster
beforeAll(async () => {
  setup = await onMongo()
}, LIMIT_MS)
afterAll(() => setup.close(), LIMIT_MS)

it('loses nothing while every service is restarted, including two APIs, with SIGTERM and then with SIGKILL', {
  timeout: LIMIT_MS,
}, async () => {
  // This test checks for losses, not for the length of the gaps.
  const plan = { sessions: SESSIONS, workers: 1, passes: ['SIGTERM', 'SIGKILL'], gaugeEveryMs: 250 } as const
  const verdict = await rollingRestart(setup, plan)
  expect(verdict).toMatchObject({
    ...{ restarts: 8, sessions: SESSIONS, lost: [], launchedTwice: 0, labsAstray: [] },
    ...{ missed: [], writesLost: [], badExits: [] },
  })
  expect(verdict.writes).toBeGreaterThan(0)
  expect(setup.defects()).toEqual([])
})
