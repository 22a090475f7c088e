import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import type { DecisionNote } from '@lcm/domain/journal-records'
import type { Leadership } from '@lcm/runtime'
import { type RecordingLogger, recordingLogger } from '@lcm/testkit/recording-logger'
import { settingsCache } from '../../kit/settings-cache.ts'
import type { WorkerControllerConfig } from '../config.ts'
import { type Discovery, type DiscoveryParts, discoveryLoop } from '../discovery-loop.ts'
import { regionSnapshots } from '../machine-list-cache.ts'
import { aConfig, EPOCH, never, type SimulatedFleet } from './simulated-cloud-and-api.ts'

export const INTERVAL_MS = 300_000
const leadership: Leadership = { epoch: EPOCH, signal: never, isHeld: () => true }

/** Discovery on a simulated fleet, with its logs and calls. */
export interface ADiscovery {
  readonly loop: Discovery
  readonly log: RecordingLogger
  readonly woken: string[]
  readonly notes: (DecisionNote & { resource: string })[]
  /** Calls to the cloud and to the API, in order. */
  readonly order: string[]
  lead(): Promise<void>
  end(): void
  /** Runs the first round of a new term, and `more` after it. */
  discover(more?: number): Promise<void>
  imported(): readonly Readonly<Record<string, unknown>>[]
  actions(): readonly string[]
}

export function aDiscovery(
  fleet: SimulatedFleet,
  more: Partial<DiscoveryParts> = {},
  config: Partial<WorkerControllerConfig> = {},
): ADiscovery {
  const { plane, client, clock, cml, machines } = fleet
  const log = recordingLogger()
  const woken: string[] = []
  const notes: ADiscovery['notes'] = []
  const order: string[] = []
  const listing: BatchedCompute = {
    ...machines,
    list: (...args) => {
      order.push('list machines')
      return machines.list(...args)
    },
  }
  plane.beforeRequest(({ route }) => void order.push(route ?? ''))
  const settled = aConfig({ discoveryIntervalMs: INTERVAL_MS, ...config })
  const loop = discoveryLoop({
    client,
    machines: listing,
    snapshots: regionSnapshots({ machines: more.machines ?? listing, clock, config: settled }),
    cml,
    settings: settingsCache({ client, clock }),
    decisions: {
      note: (resource, _, note) => void notes.push({ resource, ...note }),
      written: () => undefined,
      forget: () => undefined,
      service: { name: 'none', run: async () => undefined },
    },
    clock,
    logger: log,
    config: settled,
    wake: id => void woken.push(id),
    ...more,
  })
  let stop = new AbortController()
  const lead = () => {
    stop = new AbortController()
    return loop.run(stop.signal, leadership)
  }
  return {
    loop,
    log,
    woken,
    notes,
    order,
    lead,
    end: () => stop.abort(),
    async discover(times = 0) {
      void lead()
      await clock.advance(5_000 + times * INTERVAL_MS)
    },
    imported: () => plane.requestsOf('importWorker').map(({ body }) => body),
    actions: () => loop.orphans().map(({ action }) => action),
  }
}
