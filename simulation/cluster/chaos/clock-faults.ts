import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS } from '../clusters/session-cluster.ts'
import type { ChaosCluster } from './chaos-cluster.ts'
import type { Fault, FaultStep } from './fault-under-load.ts'
import { repeated } from './process-faults.ts'

const HOUR_MS = 3_600_000
/**
 * Beyond every tolerance, and well within a session's 30 minutes: the API's clock is the one that all go by, so an hour of it would
 * rightly end them.
 */
const API_MS = 120_000
/** The API says its time in whole seconds, and an answer takes its time too. */
const ANSWER_MS_MAX = 2_000
/** Long enough for a controller to look at everything it has, at least once. */
const WRONG_FOR_MS = 6_000

/** Only wall clocks go wrong: nobody can set the monotonic one. */
export const clockSteps = (rounds: number): Fault => ({
  name: 'clocks',
  told:
    'the wall clock of each leading controller is set an hour ahead, an hour back, and right again; so is that of the API by two ' +
    "minutes, for that is the one they go by; a session's time is 30 minutes",
  strokes: repeated(rounds, [...steps(HOUR_MS, -API_MS), ...steps(-HOUR_MS, API_MS)]),
})

/** Bookings made while the API clock is ahead would wait for their start time, so the clock is set back first. */
const steps = (controllerMs: number, apiMs: number): readonly FaultStep[] => [
  ...CONTROLLERS.map(service => ({
    what: `clock of ${service} wrong by ${controllerMs / HOUR_MS} h`,
    strike: stepLeader(service, controllerMs),
  })),
  { what: `clock of the API wrong by ${apiMs / 60_000} min`, strike: stepApi(apiMs) },
]

const stepLeader =
  (service: ServiceName, ms: number) =>
  async (place: ChaosCluster): Promise<void> => {
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

const stepApi =
  (ms: number) =>
  async ({ api, stepClock }: ChaosCluster): Promise<void> => {
    stepClock('api', ms)
    try {
      await systemClock.sleep(WRONG_FOR_MS)
      const { headers } = await fetch(`${api.url}/health`)
      const wrongByMs = Date.parse(headers.get('date') ?? '') - systemClock.now()
      if (Math.abs(wrongByMs - ms) > ANSWER_MS_MAX) throw new Error(`it dates its answers ${headers.get('date')}`)
    } finally {
      stepClock('api', 0)
    }
  }
