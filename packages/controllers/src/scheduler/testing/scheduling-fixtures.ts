import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import {
  aDefinition as anyDefinition,
  aSession as anySession,
  aTemplate,
  aWorker,
} from '@lcm/testkit/test-data-builders'

const MINUTE_MS = 60_000
/** The manual clock begins here. */
export const NOW_MS = Date.parse('2026-03-01T10:00:00.000Z')
export const atMinutes = (minutes: number): string => toInstant(NOW_MS + minutes * MINUTE_MS)

/** Four of these fill a worker. */
export const NEEDS = { cpu_cores: 4, memory_gb: 8, storage_gb: 10, node_count: 5 }
export const CAPACITY = { cpu_cores: 16, memory_gb: 32, storage_gb: 100, max_nodes: 100 }

export const aDefinition = (more: Partial<LabletDefinition> = {}): LabletDefinition =>
  anyDefinition({ created_at: atMinutes(-600), updated_at: atMinutes(-600), name: 'ospf', needs: NEEDS, ...more })

/** Begins now and lasts an hour. */
export const aSession = (more: Partial<LabletSession> = {}): LabletSession =>
  anySession({
    id: 's-1',
    created_at: atMinutes(-1),
    updated_at: atMinutes(-1),
    owner: 'alice',
    desired_by: 'alice',
    definition: { id: 'ld-1', name: 'ospf', version: '1.0.0' },
    needs: NEEDS,
    timeslot: { start: atMinutes(0), end: atMinutes(60) },
    entered_status_at: atMinutes(-1),
    state_history: [{ from: null, to: 'PENDING', at: atMinutes(-1), because: reason('booked_by', { by: 'jane' }) }],
    ...more,
  })

/** A licensed worker that serves, with capacity for four. */
export const aServingWorker = (more: Partial<Worker> = {}): Worker => ({
  ...aWorker({
    status: 'RUNNING',
    service_status: 'AVAILABLE',
    entered_status_at: atMinutes(-60),
    capacity: { declared: CAPACITY, reserved: { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 } },
  }),
  license: { ...aWorker().license, status: 'REGISTERED', product: 'CML_Enterprise' },
  cml: { ...aWorker().cml, version: '2.9.1' },
  ...more,
})
export const anotherWorker = (more: Partial<Worker> = {}): Worker =>
  aServingWorker({ id: 'w-2', name: 'metal-2', ...more })

export const aSmallTemplate = () => aTemplate({ capacity: CAPACITY, license_product: 'CML_Enterprise' })
