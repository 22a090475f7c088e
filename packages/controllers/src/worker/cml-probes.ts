import type { Client } from '@lcm/client/client'
import type { CmlLoginResolver } from '@lcm/cloud/cml-credentials'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import { CloudError } from '@lcm/cloud/errors'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { recordedEndpoint } from '@lcm/domain/worker/endpoint'
import type { LicenseSight } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import type { HostedService, Logger } from '@lcm/runtime'
import type { SettingsCache } from '../kit/settings-cache.ts'
import type { CmlAccessWatch } from './cml-access.ts'
import { checkIdle } from './idle-check.ts'
import { readLicense } from './licenses.ts'
import type { WorkerCounters } from './report.ts'

/** Concurrent probes. A slow CML must not delay others, least of all the reconciler. */
const AT_ONCE = 50
/** Limits of the API. */
const DEFINITIONS_MAX = 500
const DEFINITION_CHARS_MAX = 128

/** Result of a probe; null where CML did not answer. */
export interface CmlProbe {
  readonly license: LicenseSight
  readonly nodeDefinitions: readonly string[] | null
}

/** Probes the CML of running workers beside the reconciler: license, node definitions and activity. */
export interface CmlProbes extends HostedService {
  /** Queues a probe. The worker is woken when there is a result. */
  request(worker: Worker, epoch: number): void
  latest(workerId: string): CmlProbe | null
  /** Replaces the result; null when it is obsolete. The result of a probe in progress is then ignored. */
  record(workerId: string, survey: CmlProbe | null): void
  forget(workerId: string): void
}

export interface CmlProbeParts {
  readonly client: Client
  readonly cml: CmlSystem
  readonly logins: CmlLoginResolver
  readonly settings: SettingsCache
  readonly counters: WorkerCounters
  readonly logger: Logger
  readonly access: Pick<CmlAccessWatch, 'clearPart'>
  wake(workerId: string): void
}

interface Visit {
  readonly worker: Worker
  readonly url: string
  readonly epoch: number
}

export function cmlProbes(parts: CmlProbeParts): CmlProbes {
  const found = new Map<string, CmlProbe>()
  const waiting = new Map<string, Visit>()
  const underWay = new Map<string, Visit>()
  const hands = new Set<() => void>()

  function next(): Visit | undefined {
    for (const [id, visit] of waiting) {
      waiting.delete(id)
      return visit
    }
    return undefined
  }

  /** Resolves at the next request, or at the end of the term. */
  const asked = (): Promise<void> =>
    new Promise(resolve => {
      const wake = () => {
        hands.delete(wake)
        resolve()
      }
      hands.add(wake)
    })

  async function work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const visit = next()
      if (visit === undefined) await asked()
      else await visitOne(parts, { found, underWay }, visit, signal)
    }
  }

  function saw(workerId: string, survey: CmlProbe | null): void {
    underWay.delete(workerId)
    if (survey === null) found.delete(workerId)
    else found.set(workerId, survey)
  }

  return {
    name: 'surveys',
    request(worker, epoch) {
      const url = recordedEndpoint(worker)
      if (url === null) return
      waiting.set(worker.id, { worker, url, epoch })
      for (const wake of hands) {
        wake()
        return
      }
    },
    latest: workerId => found.get(workerId) ?? null,
    record: saw,
    forget(workerId) {
      saw(workerId, null)
      waiting.delete(workerId)
    },
    async run(signal) {
      // One listener for all: one per probe would look like a leak.
      const wakeAll = () => {
        for (const wake of [...hands]) wake()
      }
      signal.addEventListener('abort', wakeAll, { once: true })
      await Promise.all(Array.from({ length: AT_ONCE }, () => work(signal)))
      // Another leader may change what was found, so the next term probes again.
      for (const kept of [found, waiting, underWay]) kept.clear()
    },
  }
}

interface Visits {
  readonly found: Map<string, CmlProbe>
  readonly underWay: Map<string, Visit>
}

async function visitOne(
  parts: CmlProbeParts,
  { found, underWay }: Visits,
  visit: Visit,
  signal: AbortSignal,
): Promise<void> {
  const { worker, url, epoch } = visit
  underWay.set(worker.id, visit)
  try {
    const license = await readLicense(parts, worker, url, signal)
    const nodeDefinitions = await readNodeDefinitions(parts, worker, url, signal)
    if (underWay.get(worker.id) === visit) found.set(worker.id, { license, nodeDefinitions })
    if (isWatched(worker, await parts.settings.read(signal))) await judgeIdleness(parts, { worker, url, epoch }, signal)
    else for (const part of OF_IDLENESS) parts.access.clearPart(worker, part)
    parts.wake(worker.id)
  } catch (err) {
    if (!signal.aborted) parts.logger.warn({ err, worker: worker.id }, 'could not probe a worker')
  } finally {
    // Otherwise a copy of every probed worker would stay in memory.
    if (underWay.get(worker.id) === visit) underWay.delete(worker.id)
  }
}

/** Parts that only the idle check reads. */
const OF_IDLENESS = ['telemetry', 'telemetry_off'] as const

const isWatched = (worker: Worker, settings: SettingValues): boolean =>
  settings.idle_detection_enabled && worker.idle_detection_enabled

async function judgeIdleness(parts: CmlProbeParts, { worker, url, epoch }: Visit, signal: AbortSignal): Promise<void> {
  const { verdict } = await checkIdle(parts, worker, { url, epoch }, signal)
  parts.counters.add('idle_detection')
  if (verdict === 'pause') parts.counters.add('auto_pause')
  if (verdict === 'drain') parts.counters.add('scale_down_drain')
}

/** Null when CML did not answer. */
export async function readNodeDefinitions(
  { cml, logins }: Pick<CmlProbeParts, 'cml' | 'logins'>,
  worker: Worker,
  url: string,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  try {
    const definitions = await cml.nodeDefinitions(await logins.resolve(worker, url, signal), signal)
    return definitions.filter(({ length }) => length <= DEFINITION_CHARS_MAX).slice(0, DEFINITIONS_MAX)
  } catch (error) {
    if (error instanceof CloudError) return null
    throw error
  }
}
