import type { ServiceName } from '@lcm/domain/actor'
import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS } from '../clusters/controller-cluster.ts'
import type { ChaosCluster } from './chaos-cluster.ts'
import type { Fault, FaultStep } from './fault-under-load.ts'
import { repeated } from './process-faults.ts'

const HOUR_MS = 3_600_000
/** Beyond every tolerance and well within a session's 30 minutes: an hour on the API's clock would rightly end the sessions. */
const API_MS = 120_000
/** The `date` header has whole seconds, and a response takes time. */
const ANSWER_MS_MAX = 2_000
/** Long enough for a controller to reconcile everything at least once. */
const WRONG_FOR_MS = 6_000

/** Sets wall clocks only: the monotonic clock cannot be set. */
export const clockSteps = (rounds: number): Fault => ({
  name: 'clocks',
  description:
    'the wall clock of each leading controller is set an hour ahead, an hour back, and right again; the clock of the API by two ' +
    'minutes, because sessions of 30 minutes depend on it',
  steps: repeated(rounds, [...steps(HOUR_MS, -API_MS), ...steps(-HOUR_MS, API_MS)]),
})

/** Bookings made while the API clock is ahead would wait for their start time, so the clock is set back first. */
const steps = (controllerMs: number, apiMs: number): readonly FaultStep[] => [
  ...CONTROLLERS.map(service => ({
    what: `clock of ${service} wrong by ${controllerMs / HOUR_MS} h`,
    inject: stepLeader(service, controllerMs),
  })),
  { what: `clock of the API wrong by ${apiMs / 60_000} min`, inject: stepApi(apiMs) },
]

const stepLeader =
  (service: ServiceName, ms: number) =>
  async (setup: ChaosCluster): Promise<void> => {
    const { name, url } = await setup.cluster.leaderOf(service)
    setup.stepClock(name, ms)
    try {
      await systemClock.sleep(WRONG_FOR_MS / 2)
      await setup.cluster.ask({ url }, 'POST /admin/trigger-reconcile')
      await systemClock.sleep(WRONG_FOR_MS / 2)
    } finally {
      setup.stepClock(name, 0)
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
