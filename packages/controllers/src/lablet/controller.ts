import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { cmlLoginResolver } from '@lcm/cloud/cml-login-resolver'
import { allOf, leaderElected } from '@lcm/runtime'
import type { Controller, ControllerParts } from '../kit/controller-types.ts'
import { settingsCache } from '../kit/settings-cache.ts'
import { termMemory } from '../kit/term-memory.ts'
import { wakeRelay } from '../kit/wake-relay.ts'
import type { LabletControllerConfig } from './config.ts'
import type { ContentSources } from './content/content-sources.ts'
import { contentSync } from './content/content-sync.ts'
import { definitionCache } from './definition-cache.ts'
import { labActions } from './labs/lab-action-reconciler.ts'
import { labScan } from './labs/lab-scan.ts'
import { sessionReconciler } from './reconciler.ts'
import { labletCounters } from './report.ts'
import { saveQueue } from './saves/save-queue.ts'
import { labletMemory } from './term-memory.ts'
import { workerSlots } from './worker-concurrency-limit.ts'

export interface LabletControllerParts extends ControllerParts {
  readonly labs: CmlLabs
  readonly sources: ContentSources
  readonly config: LabletControllerConfig
}

/** Reconciles sessions, saves their labs, performs lab actions, scans labs and fetches content, all in one leadership term. */
export function labletController(parts: LabletControllerParts): Controller {
  const { client, clock, config, meter } = parts
  const memory = termMemory(labletMemory)
  const scanWakes = wakeRelay()
  const logins = cmlLoginResolver(
    (id, signal) => client.call('getWorkerSecrets', { params: { id }, signal }),
    config.cmlDefaults,
  )
  const saves = saveQueue({ ...parts, logins })
  const shared = {
    ...parts,
    logins,
    saves,
    settings: settingsCache({ client, clock }),
    definitions: definitionCache(client),
    counters: labletCounters(meter),
    slots: workerSlots(config.perWorkerMax),
    memory,
    labsChanged: (workerId: string) => void scanWakes.wake(workerId, 'labs changed'),
  }
  const scan = labScan(shared)
  scanWakes.connect(scan)
  const loop = sessionReconciler(shared)
  const others = [labActions(shared), scan, contentSync(shared)]
  const led = allOf('lablet-controller', [loop, saves, ...others])
  return {
    service: leaderElected(memory.during(led), parts.election),
    loop,
    others,
    plan: () => memory.current().plan.plan(),
    stats: () => shared.counters.snapshot(),
    health() {
      const { plan } = memory.current()
      return { sessions_managed: plan.count('session'), labs_managed: plan.count('lab_record') }
    },
  }
}
