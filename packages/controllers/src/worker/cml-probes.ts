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

/** So many CML servers are visited at once. A slow one must not hold up others, least of all the reconciler. */
const AT_ONCE = 50
/** What the API takes. */
const DEFINITIONS_MAX = 500
const DEFINITION_CHARS_MAX = 128

/** What a visit to a worker's CML found; null where it did not answer. */
export interface CmlProbe {
  readonly license: LicenseSight
  readonly nodeDefinitions: readonly string[] | null
}

/** Visits to the CML of running workers, beside the reconciler: licence, node definitions, and whether anybody uses it. */
export interface CmlProbes extends HostedService {
  /** Answers at once; the visit is made when its turn comes, and the worker is woken when there is something to see. */
  request(worker: Worker, epoch: number): void
  latest(workerId: string): CmlProbe | null
  /** What somebody else has seen since, or null where the last visit holds no longer. A visit that began before counts no more. */
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

  /** Resolves when something was asked for, or the term is over. */
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
      // One listener for all: as many as there are hands would look like a leak.
      const wakeAll = () => {
        for (const wake of [...hands]) wake()
      }
      signal.addEventListener('abort', wakeAll, { once: true })
      await Promise.all(Array.from({ length: AT_ONCE }, () => work(signal)))
      // The next term asks anew: who led between may have changed what was found.
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
    if (!signal.aborted) parts.logger.warn({ err, worker: worker.id }, 'a worker could not be surveyed')
  } finally {
    // Else every worker would be held once more, as it was when it was visited.
    if (underWay.get(worker.id) === visit) underWay.delete(worker.id)
  }
}

/** Nothing else reads telemetry. */
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
