import { aDefinition, aServingWorker, aSession, aTemplate } from '@lcm/testkit/test-data-builders'
import { timingsOf } from '../../calendar/timings.ts'
import { withReservation } from '../../calendar/worker-ledger.ts'
import type { LabletDefinition } from '../../definition/lablet-definition.ts'
import { toInstant, toMs } from '../../instant.ts'
import { reason } from '../../reason.ts'
import type { LabletSession } from '../../session/lablet-session.ts'
import type { Worker } from '../../worker/worker.ts'
import type { PlanInput } from '../plan-input.ts'

export const MINUTE = 60_000
export const NOW = toMs(aSession().created_at)
export const at = (minutes: number): string => toInstant(NOW + minutes * MINUTE)

/** Needs this many of the ten cores of a machine. Its lab starts 5 minutes before the slot and is removed 2 minutes after it. */
export const booked = (
  id: string,
  cpu_cores: number,
  [start, end]: readonly [number, number],
  more: Partial<LabletSession> = {},
): LabletSession =>
  aSession({
    id,
    needs: { cpu_cores, memory_gb: 1, storage_gb: 1, node_count: 1 },
    timeslot: { start: at(start), end: at(end) },
    created_at: at(-10_000),
    ...more,
  })

const DECLARED = { cpu_cores: 10, memory_gb: 100, storage_gb: 100, max_nodes: 100 }
export const METAL = aTemplate({ name: 'metal', cost_per_hour_usd: 6, capacity: DECLARED, license_product: null })

export const serving = (id: string, more: Partial<Worker> = {}): Worker =>
  aServingWorker({
    id,
    name: id,
    template_name: 'metal',
    cost_per_hour_usd: 6,
    origin: 'SCALE_UP',
    license: { ...aServingWorker().license, product: 'CML_Site', status: 'REGISTERED' },
    capacity: { ...aServingWorker().capacity, declared: DECLARED },
    ...more,
  })

/** Stopped by a policy, and so to be woken. */
export const sleeping = (id: string, more: Partial<Worker> = {}): Worker =>
  serving(id, {
    status: 'STOPPED',
    service_status: 'UNAVAILABLE',
    desired_status: 'STOPPED',
    entered_status_at: at(-600),
    pause: { ...aServingWorker().pause, reason: reason('worker_idle') },
    ...more,
  })

/** Requested to run this many minutes ago. */
export const arriving = (id: string, minutes: number, more: Partial<Worker> = {}): Worker =>
  serving(id, {
    status: 'STARTING',
    service_status: 'UNAVAILABLE',
    entered_status_at: at(-minutes),
    pause: { ...aServingWorker().pause, last_resumed_at: at(-minutes) },
    ...more,
  })

/** Until the lab of the session should be gone. */
export const reservedFor = (worker: Worker, { id, needs, timeslot }: LabletSession): Worker =>
  withReservation(worker, id, needs, {
    since: at(-60),
    from: at(-60),
    until: toInstant(toMs(timeslot.end) + 2 * MINUTE),
  })

export const holding = (worker: Worker, ...sessions: readonly LabletSession[]): Worker =>
  sessions.reduce(reservedFor, worker)

/** Until a scan has seen its lab gone. */
export const quarantining = (worker: Worker, { id, needs }: LabletSession): Worker =>
  withReservation(worker, id, needs, at(-60))

/** On its worker, with a lab. */
export const running = (session: LabletSession, worker_id: string): LabletSession => ({
  ...session,
  status: 'RUNNING',
  worker_id,
})

export const anInput = (more: Partial<PlanInput> = {}, definition: Partial<LabletDefinition> = {}): PlanInput => ({
  nowMs: NOW,
  sessions: [],
  definitions: new Map([['ld-1', aDefinition({ boot_lead_minutes: 5, ...definition })]]),
  workers: [],
  templates: [METAL],
  settings: {
    scale_up_enabled: true,
    max_workers_per_region: 100,
    boot_lead_minutes: 'auto',
    terminate_sleeping: false,
  },
  region: 'us-east-1',
  timings: timingsOf([]),
  previous: null,
  bestEffort: new Set(),
  ...more,
})
