import { cmlLoginResolver } from '@lcm/cloud/cml-credentials'
import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { allOf, leaderElected } from '@lcm/runtime'
import { type Controller, type ControllerParts, forgetfulOf } from '../kit/controller.ts'
import { workBoard } from '../kit/plan-board.ts'
import { settingsCache } from '../kit/settings-cache.ts'
import type { LabletControllerConfig } from './config.ts'
import type { ContentSources } from './content/content-sources.ts'
import { contentSync } from './content/content-sync.ts'
import { definitionCache } from './definition-cache.ts'
import { labActions } from './labs/lab-actions.ts'
import { labScan } from './labs/lab-scan.ts'
import { sessionReconciler } from './reconciler.ts'
import { labletCounters } from './report.ts'
import { sessionMemory } from './term-memory.ts'
import { workerSlots } from './worker-slots.ts'

export interface LabletControllerParts extends ControllerParts {
  readonly labs: CmlLabs
  readonly sources: ContentSources
  readonly config: LabletControllerConfig
}

/** Gives sessions their labs and takes them down, does what is asked of labs, and fetches content, under one leadership. */
export function labletController(parts: LabletControllerParts): Controller {
  const { client, clock, config, meter } = parts
  const board = workBoard({ clock })
  const shared = {
    ...parts,
    logins: cmlLoginResolver(
      (id, signal) => client.call('getWorkerSecrets', { params: { id }, signal }),
      config.cmlDefaults,
    ),
    settings: settingsCache({ client, clock }),
    definitions: definitionCache(client),
    counters: labletCounters(meter),
    slots: workerSlots(config.perWorkerMax),
    memory: sessionMemory(),
    board,
    labsChanged: (workerId: string) => void scan.wake(workerId, 'labs changed'),
  }
  const scan = labScan(shared)
  const loop = sessionReconciler(shared)
  const others = [labActions(shared), scan, contentSync(shared)]
  const led = allOf('lablet-controller', [loop, ...others])
  return {
    service: leaderElected(forgetfulOf(led, board), parts.election),
    loop,
    others,
    plan: () => board.plan(),
    stats: () => shared.counters.snapshot(),
    health: () => ({ sessions_managed: board.count('session'), labs_managed: board.count('lab_record') }),
  }
}
