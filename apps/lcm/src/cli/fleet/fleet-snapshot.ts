import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { EventEnvelope } from '@lcm/contract/events'
import { mayView } from '@lcm/contract/route-spec'
import type { WorkerSample, WorkerView } from '@lcm/contract/worker'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'

/** Workers that are not TERMINATED and unfinished sessions, as far as the caller may see them. */
export interface FleetSnapshot {
  readonly workers: ReadonlyMap<string, WorkerView>
  readonly sessions: ReadonlyMap<string, LabletSession>
  /** Whether all sessions are included, or only the caller's own. */
  readonly seesAll: boolean
  /** Reads everything again. */
  refresh(client: Client, signal: AbortSignal): Promise<void>
  apply(event: EventEnvelope): void
}

export function fleetSnapshot(): FleetSnapshot {
  const workers = new Map<string, WorkerView>()
  const sessions = new Map<string, LabletSession>()
  let seesAll = true
  return {
    workers,
    sessions,
    get seesAll() {
      return seesAll
    },
    async refresh(client, signal) {
      const [info, read, booked] = await Promise.all([
        client.call('info', { signal }),
        readList(page => client.call('listWorkers', { query: page, signal })),
        readList(page => client.call('listSessions', { query: page, signal })),
      ])
      seesAll = mayView({ ...info.actor, service: null }, '')
      replace(workers, read.items)
      replace(sessions, booked.items)
    },
    apply(event) {
      switch (event.type) {
        case 'worker.created':
        case 'worker.updated':
          return keep(workers, event.data, event.data.status !== 'TERMINATED')
        case 'session.created':
        case 'session.updated':
          return keep(sessions, event.data, !isFinal(event.data.status))
        case 'worker.deleted':
          return void workers.delete(event.id)
        case 'session.deleted':
          return void sessions.delete(event.id)
        case 'metrics.batch':
          for (const { worker_id, sample } of event.data) measure(workers, worker_id, sample)
          return
        default:
          return
      }
    },
  }
}

interface Versioned {
  readonly id: string
  readonly version: number
}

function replace<T extends Versioned>(known: Map<string, T>, items: readonly T[]): void {
  known.clear()
  for (const item of items) known.set(item.id, item)
}

/** Ignores events that are older than the stored version. */
function keep<T extends Versioned>(known: Map<string, T>, item: T, isShown: boolean): void {
  if ((known.get(item.id)?.version ?? 0) > item.version) return
  if (isShown) known.set(item.id, item)
  else known.delete(item.id)
}

/** Merges a sample; missing values keep their previous value, because each source reports only some of them. */
function measure(workers: Map<string, WorkerView>, id: string, sample: WorkerSample): void {
  const worker = workers.get(id)
  if (worker === undefined || (worker.utilization?.at ?? '') > sample.collected_at) return
  const { cpu = null, memory = null, disk = null } = worker.utilization ?? {}
  const utilization = {
    cpu: sample.cpu_utilization ?? cpu,
    memory: sample.memory_utilization ?? memory,
    disk: sample.disk_utilization ?? disk,
    at: sample.collected_at,
  }
  workers.set(id, { ...worker, utilization })
}
