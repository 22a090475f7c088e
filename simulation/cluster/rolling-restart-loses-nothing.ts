import { expect } from 'vitest'
import type { OpenRollingCluster } from './clusters/rolling-restart-clusters.ts'
import { rollingRestart } from './rolling-restart.ts'

/** Restarts one replica of every service with SIGTERM and then one with SIGKILL. */
export async function expectNothingLost(setup: OpenRollingCluster, sessions: number): Promise<void> {
  // This test checks for losses, not for the length of the gaps.
  const plan = { sessions, workers: 1, passes: ['SIGTERM', 'SIGKILL'], gaugeEveryMs: 250 } as const
  const verdict = await rollingRestart(setup, plan)
  expect(verdict).toMatchObject({
    ...{ restarts: 8, sessions, lost: [], launchedTwice: 0, labsAstray: [] },
    ...{ missed: [], writesLost: [], badExits: [] },
  })
  expect(verdict.writes).toBeGreaterThan(0)
  expect(setup.defects()).toEqual([])
}
