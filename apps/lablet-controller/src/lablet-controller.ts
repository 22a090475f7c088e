import type { Client } from '@lcm/client/client'
import type { CmlLabs } from '@lcm/cloud/cml-labs'
import { cmlLoginsBy } from '@lcm/cloud/cml-logins'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import {
  allOf,
  type Election,
  type HostedService,
  type Logger,
  leaderElected,
  type Meter,
  type Reconciliation,
} from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { DecisionLog } from '@lcm/service/decision-log'
import { settingsNow } from '@lcm/service/settings-now'
import type { LabletControllerConfig } from './config.ts'
import type { ContentSources } from './content/content-sources.ts'
import { contentSync } from './content/content-sync.ts'
import { counters } from './counters.ts'
import { definitions } from './definitions.ts'
import { labActions } from './labs/lab-actions.ts'
import { labScan } from './labs/lab-scan.ts'
import { sessionMemory } from './sessions/session-memory.ts'
import { sessionReconciler } from './sessions/session-reconciler.ts'
import { type WorkBoard, workBoard } from './work-board.ts'
import { workerTurns } from './worker-turns.ts'

export interface LabletControllerParts {
  readonly client: Client
  readonly labs: CmlLabs
  readonly sources: ContentSources
  readonly changeKeys: ChangeKeys
  readonly election: Election
  readonly decisions: DecisionLog
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
  readonly config: LabletControllerConfig
}

export interface LabletController {
  /** Everything that only the leader does. */
  readonly service: HostedService
  readonly loop: Reconciliation
  /** What it would do next with sessions and labs, and when. */
  plan(): readonly PlannedAction[]
  stats(): Readonly<Record<string, number>>
  health(): { readonly sessions_managed: number; readonly labs_managed: number }
}

/** Gives sessions their labs and takes them down, does what is asked of labs, and fetches content, under one leadership. */
export function labletController(parts: LabletControllerParts): LabletController {
  const { client, clock, config, meter } = parts
  const board = workBoard({ clock })
  const shared = {
    ...parts,
    logins: cmlLoginsBy(
      (id, signal) => client.call('getWorkerSecrets', { params: { id }, signal }),
      config.cmlDefaults,
    ),
    settings: settingsNow({ client, clock }),
    definitions: definitions(client),
    counters: counters(meter),
    turns: workerTurns(config.perWorkerMax),
    memory: sessionMemory(),
    board,
    labsChanged: (workerId: string) => void scan.wake(workerId, 'labs changed'),
  }
  const scan = labScan(shared)
  const loop = sessionReconciler(shared)
  const led = allOf('lablet-controller', [loop, labActions(shared), scan, contentSync(shared)])
  return {
    service: leaderElected(forgetfulOf(led, board), parts.election),
    loop,
    plan: () => board.plan(),
    stats: () => shared.counters.snapshot(),
    health: () => ({ sessions_managed: board.count('session'), labs_managed: board.count('lab_record') }),
  }
}

/** Who leads no longer does not know how sessions are. */
const forgetfulOf = (service: HostedService, board: WorkBoard): HostedService => ({
  name: service.name,
  async run(signal, leadership) {
    try {
      await service.run(signal, leadership)
    } finally {
      board.clear()
    }
  },
})
