import { expect } from 'vitest'
import type { OpenRollingCluster } from './clusters/rolling-clusters.ts'
import { rollingRestart } from './rolling-restart.ts'

/** One replica of every service is restarted with a warning, and then one without. */
export async function expectNothingLost(place: OpenRollingCluster, sessions: number): Promise<void> {
  // What was lost is asked here, and not how long the gaps were.
  const plan = { sessions, workers: 1, passes: ['SIGTERM', 'SIGKILL'], gaugeEveryMs: 250 } as const
  const verdict = await rollingRestart(place, plan)
  expect(verdict).toMatchObject({
    ...{ restarts: 8, sessions, lost: [], launchedTwice: 0, labsAstray: [] },
    ...{ missed: [], writesLost: [], badExits: [] },
  })
  expect(verdict.writes).toBeGreaterThan(0)
  expect(place.defects()).toEqual([])
}
