import { CHANGE_KEYS } from '@lcm/contract/resource-kinds'
import { localCoordination } from '@lcm/coordination/local/coordination'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { type ManualClock, manualClock } from '@lcm/testkit/manual-clock'
import { type RecordingLogger, recordingLogger } from '@lcm/testkit/recording-logger'
import { type RecordingMeter, recordingMeter } from '@lcm/testkit/recording-meter'
import type { Controller } from '../../kit/controller.ts'
import { decisionLog } from '../../kit/decision-log.ts'
import { RESOURCE_SCHEDULER_DEFAULTS, type ResourceSchedulerConfig } from '../config.ts'
import { resourceScheduler } from '../controller.ts'
import { aDefinition, aServingWorker, aSmallTemplate, NOW_MS } from './a-booking.ts'
import { type FakeApi, fakeApi } from './fake-api.ts'

/** A scheduler on a manual clock, with an API that tells of every change. */
export interface SchedulerRig {
  readonly clock: ManualClock
  readonly api: FakeApi
  readonly coordination: ReturnType<typeof localCoordination>
  readonly logger: RecordingLogger
  readonly meter: RecordingMeter
  /** Another instance of the service. */
  begin(instanceId?: string, config?: Partial<ResourceSchedulerConfig>): Controller
  /** As if people or controllers had made them, with news of each. */
  put(...sessions: readonly LabletSession[]): void
  putWorker(...workers: readonly Worker[]): void
  session(id?: string): LabletSession
  worker(id?: string): Worker
  runFor(ms: number): Promise<void>
}

/** One definition and one template are there, and nothing else. */
export function schedulerRig(): SchedulerRig {
  const clock = manualClock(NOW_MS)
  const coordination = localCoordination({ clock, firstEpoch: () => 1 })
  const api = fakeApi(clock, (kind, id) => tell(kind, id))
  api.definitions.set('ld-1', aDefinition())
  api.templates.set('metal', aSmallTemplate())
  const logger = recordingLogger()
  const meter = recordingMeter()

  function tell(kind: 'sessions' | 'workers', id: string): void {
    const resource = api[kind].get(id)
    if (resource === undefined) return
    const { version, updated_at, status, desired_status } = resource
    void coordination.changeKeys.publish(`${CHANGE_KEYS[kind]}${id}`, {
      id,
      version,
      updated_at,
      status,
      desired_status,
    })
  }
  function save<T extends { id: string; version: number }>(kind: 'sessions' | 'workers', all: Map<string, T>, it: T) {
    const before = all.get(it.id)
    all.set(it.id, { ...it, version: before === undefined ? it.version : before.version + 1 })
    tell(kind, it.id)
  }

  return {
    clock,
    api,
    coordination,
    logger,
    meter,
    begin(instanceId = 'one', config = {}) {
      const scheduler = resourceScheduler({
        client: api.client,
        changeKeys: coordination.changeKeys,
        election: coordination.election('resource-scheduler', instanceId),
        decisions: decisionLog({ client: api.client, clock, logger, instanceId }),
        clock,
        logger,
        meter: instanceId === 'one' ? meter : recordingMeter(),
        config: { ...RESOURCE_SCHEDULER_DEFAULTS, region: 'us-east-1', ...config },
      })
      void scheduler.service.run(new AbortController().signal)
      return scheduler
    },
    put(...sessions) {
      for (const each of sessions) save('sessions', api.sessions, each)
    },
    putWorker(...workers) {
      for (const each of workers) save('workers', api.workers, each)
    },
    session: (id = 's-1') => api.sessions.get(id) ?? missing(id),
    worker: (id = 'w-1') => api.workers.get(id) ?? missing(id),
    runFor: ms => clock.advance(ms),
  }
}

function missing(id: string): never {
  throw new Error(`there is no ${id}`)
}

export const workersOf = (count: number, more: Partial<Worker> = {}): Worker[] =>
  Array.from({ length: count }, (_, n) => aServingWorker({ id: `w-${n + 1}`, name: `metal-${n + 1}`, ...more }))
