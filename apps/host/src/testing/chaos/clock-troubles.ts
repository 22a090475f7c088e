import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS } from '../session-cluster.ts'
import type { ChaosPlace } from './place.ts'
import { repeated } from './process-troubles.ts'
import type { Trouble } from './under-load.ts'

const HOUR_MS = 3_600_000
/** Long enough for a controller to look at everything it has, at least once. */
const WRONG_FOR_MS = 6_000

/** Only wall clocks go wrong: nobody can set the monotonic one. */
export const controllerClocks = (rounds: number): Trouble => ({
  name: 'clocks',
  told: "the wall clock of each leading controller is set an hour ahead, an hour back, and right again; a session's time is 30 minutes",
  strokes: repeated(
    rounds,
    [HOUR_MS, -HOUR_MS].flatMap(ms =>
      CONTROLLERS.map(service => ({
        what: `clock of ${service} wrong by ${ms / HOUR_MS} h`,
        strike: stepLeader(service, ms),
      })),
    ),
  ),
})

const stepLeader =
  (service: ServiceName, ms: number) =>
  async (place: ChaosPlace): Promise<void> => {
    const { name, url } = await place.cluster.leaderOf(service)
    place.stepClock(name, ms)
    try {
      await systemClock.sleep(WRONG_FOR_MS / 2)
      await place.cluster.ask({ url }, 'POST /admin/trigger-reconcile')
      await systemClock.sleep(WRONG_FOR_MS / 2)
    } finally {
      place.stepClock(name, 0)
    }
  }
