import { ROUTES, type RouteName } from '@lcm/contract/routes'
import type { LocalCoordination } from '@lcm/coordination/local/coordination'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { type AControlPlane, aControlPlane, storedDefinition } from '@lcm/testkit/a-control-plane'
import type { RequestRecord } from '@lcm/testkit/faulty-dispatch'
import type { ManualClock } from '@lcm/testkit/manual-clock'
import { type RecordingLogger, recordingLogger } from '@lcm/testkit/recording-logger'
import { type RecordingMeter, recordingMeter } from '@lcm/testkit/recording-meter'
import type { Controller } from '../../kit/controller-types.ts'
import { decisionLog } from '../../kit/decision-log.ts'
import { registeredElection } from '../../kit/registered-election.ts'
import { RESOURCE_SCHEDULER_DEFAULTS, type ResourceSchedulerConfig } from '../config.ts'
import { resourceScheduler } from '../controller.ts'
import { aDefinition, aServingWorker, aSmallTemplate, NOW_MS } from './scheduling-fixtures.ts'

const SERVICE = 'resource-scheduler'

/** A scheduler on a manual clock, with an API that publishes every change. */
export interface SchedulerRig {
  readonly plane: AControlPlane
  readonly clock: ManualClock
  readonly coordination: LocalCoordination
  readonly logger: RecordingLogger
  readonly meter: RecordingMeter
  /** Another instance of the service. */
  begin(instanceId?: string, config?: Partial<ResourceSchedulerConfig>): Controller
  /** As if people or controllers had written them. */
  put(...sessions: readonly LabletSession[]): Promise<void>
  putWorker(...workers: readonly Worker[]): Promise<void>
  session(id?: string): Promise<LabletSession>
  worker(id?: string): Promise<Worker>
  /** Requests that change sessions or workers. */
  writes(): readonly RequestRecord[]
  /** From now on no change key is published. */
  stopAnnouncing(): Promise<void>
  runFor(ms: number): Promise<void>
}

/** One definition and one template exist, and nothing else. */
export async function schedulerRig(): Promise<SchedulerRig> {
  const plane = aControlPlane({ startMs: NOW_MS })
  const { clock, coordination } = plane
  await plane.put('definitions', storedDefinition(aDefinition()))
  await plane.put('templates', aSmallTemplate())
  const logger = recordingLogger()
  const meter = recordingMeter()
  return {
    plane,
    clock,
    coordination,
    logger,
    meter,
    begin(instanceId = 'one', config = {}) {
      const client = plane.client(SERVICE)
      const shared = { client, clock, logger }
      const scheduler = resourceScheduler({
        ...shared,
        changeKeys: coordination.changeKeys,
        election: registeredElection({
          ...shared,
          election: coordination.election(SERVICE, instanceId),
          service: SERVICE,
        }),
        decisions: decisionLog({ ...shared, instanceId }),
        meter: instanceId === 'one' ? meter : recordingMeter(),
        config: { ...RESOURCE_SCHEDULER_DEFAULTS, region: 'us-east-1', ...config },
      })
      void scheduler.service.run(new AbortController().signal)
      return scheduler
    },
    put: (...sessions) => plane.put('sessions', ...sessions),
    putWorker: (...workers) => plane.put('workers', ...workers),
    session: (id = 's-1') => plane.get('sessions', id),
    worker: (id = 'w-1') => plane.get('workers', id),
    writes: () => plane.requests.filter(isWrite),
    stopAnnouncing: plane.run('announcer'),
    runFor: ms => clock.advance(ms),
  }
}

const ASIDE: readonly RouteName[] = ['registerTerm', 'recordDecisions', 'cleanUpWorkers', 'putPlan']

const isWrite = ({ route }: RequestRecord): boolean =>
  route !== null && ROUTES[route].method !== 'GET' && !ASIDE.includes(route)

export const workersOf = (count: number, more: Partial<Worker> = {}): Worker[] =>
  Array.from({ length: count }, (_, n) => aServingWorker({ id: `w-${n + 1}`, name: `metal-${n + 1}`, ...more }))
