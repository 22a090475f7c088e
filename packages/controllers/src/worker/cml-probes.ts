import type { Client } from '@lcm/client/client'
import type { CmlLoginResolver } from '@lcm/cloud/cml-login-resolver'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import { CloudError } from '@lcm/cloud/errors'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { recordedEndpoint } from '@lcm/domain/worker/cml-endpoint'
import type { LicenseObservation } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import type { HostedService, Logger } from '@lcm/runtime'
import type { SettingsCache } from '../kit/settings-cache.ts'
import { readLicense } from './cml-license.ts'
import type { CmlRefusals } from './cml-refusals.ts'
import type { WorkerCounters } from './report.ts'
import { checkIdle } from './submit-idle-evidence.ts'

/** Concurrent probes. A slow CML must not delay others, least of all the reconciler. */
const AT_ONCE = 50
/** Limits of the API. */
const DEFINITIONS_MAX = 500
const DEFINITION_CHARS_MAX = 128

/** Result of a probe; null where CML did not answer. */
export interface CmlProbe {
  readonly license: LicenseObservation
  readonly nodeDefinitions: readonly string[] | null
}

/** Probes the CML of running workers beside the reconciler: license, node definitions and activity. */
export interface CmlProbes extends HostedService {
  /** Queues a probe. The worker is woken when there is a result. */
  request(worker: Worker, epoch: number): void
  latest(workerId: string): CmlProbe | null
  /** Replaces the result; null when it is obsolete. The result of a probe in progress is then ignored. */
  record(workerId: string, result: CmlProbe | null): void
  forget(workerId: string): void
}

export interface CmlProbeParts {
  readonly client: Client
  readonly cml: CmlSystem
  readonly logins: CmlLoginResolver
  readonly settings: SettingsCache
  readonly counters: WorkerCounters
  readonly logger: Logger
  readonly access: Pick<CmlRefusals, 'clearPart'>
  wake(workerId: string): void
}

interface ProbeRequest {
  readonly worker: Worker
  readonly url: string
  readonly epoch: number
}

export function cmlProbes(parts: CmlProbeParts): CmlProbes {
  const found = new Map<string, CmlProbe>()
  const waiting = new Map<string, ProbeRequest>()
  const inProgress = new Map<string, ProbeRequest>()
  const waiters = new Set<() => void>()

  function next(): ProbeRequest | undefined {
    for (const [id, request] of waiting) {
      waiting.delete(id)
      return request
    }
    return undefined
  }

  /** Resolves at the next request, or at the end of the term. */
  const requested = (): Promise<void> =>
    new Promise(resolve => {
      const wake = () => {
        waiters.delete(wake)
        resolve()
      }
      waiters.add(wake)
    })

  async function work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const request = next()
      if (request === undefined) await requested()
      else await probeOne(parts, { found, inProgress }, request, signal)
    }
  }

  function saw(workerId: string, result: CmlProbe | null): void {
    inProgress.delete(workerId)
    if (result === null) found.delete(workerId)
    else found.set(workerId, result)
  }

  return {
    name: 'cml-probes',
    request(worker, epoch) {
      const url = recordedEndpoint(worker)
      if (url === null) return
      waiting.set(worker.id, { worker, url, epoch })
      for (const wake of waiters) {
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
      // One listener for all: one per probe would be reported as a leak.
      const wakeAll = () => {
        for (const wake of [...waiters]) wake()
      }
      signal.addEventListener('abort', wakeAll, { once: true })
      await Promise.all(Array.from({ length: AT_ONCE }, () => work(signal)))
      // Another leader may change what was found, so the next term probes again.
      for (const kept of [found, waiting, inProgress]) kept.clear()
    },
  }
}

interface ProbeState {
  readonly found: Map<string, CmlProbe>
  readonly inProgress: Map<string, ProbeRequest>
}

async function probeOne(
  parts: CmlProbeParts,
  { found, inProgress }: ProbeState,
  request: ProbeRequest,
  signal: AbortSignal,
): Promise<void> {
  const { worker, url, epoch } = request
  inProgress.set(worker.id, request)
  try {
    const license = await readLicense(parts, worker, url, signal)
    const nodeDefinitions = await readNodeDefinitions(parts, worker, url, signal)
    if (inProgress.get(worker.id) === request) found.set(worker.id, { license, nodeDefinitions })
    if (isWatched(worker, await parts.settings.read(signal))) await checkIdleness(parts, { worker, url, epoch }, signal)
    else for (const part of IDLE_CHECK_PARTS) parts.access.clearPart(worker, part)
    parts.wake(worker.id)
  } catch (err) {
    if (!signal.aborted) parts.logger.warn({ err, worker: worker.id }, 'could not probe a worker')
  } finally {
    // Otherwise a copy of every probed worker would stay in memory.
    if (inProgress.get(worker.id) === request) inProgress.delete(worker.id)
  }
}

/** Parts that only the idle check reads. */
const IDLE_CHECK_PARTS = ['telemetry', 'telemetry_off'] as const

const isWatched = (worker: Worker, settings: SettingValues): boolean =>
  settings.idle_detection_enabled && worker.idle_detection_enabled

async function checkIdleness(
  parts: CmlProbeParts,
  { worker, url, epoch }: ProbeRequest,
  signal: AbortSignal,
): Promise<void> {
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
