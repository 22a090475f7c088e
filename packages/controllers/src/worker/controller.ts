import type { AccountTroubles } from '@lcm/cloud/account-circuit-breaker'
import type { Machines } from '@lcm/cloud/batched-compute'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { MachineMetrics } from '@lcm/cloud/metrics'
import { allOf, type HostedService, leaderElected, type Reconciliation } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { type Controller, type ControllerParts, forgetfulOf } from '../kit/controller.ts'
import { outages } from '../kit/outages.ts'
import { settingsCache } from '../kit/settings-cache.ts'
import { cmlAccess } from './cml-access.ts'
import { cmlLogins } from './cml-logins.ts'
import { cmlOutages } from './cml-outages.ts'
import { cmlProbes } from './cml-probes.ts'
import type { WorkerControllerConfig } from './config.ts'
import { counters } from './counters.ts'
import { discoveryLoop } from './discovery-loop.ts'
import { ec2Outages } from './ec2-outages.ts'
import { fleetBoard } from './fleet-metrics.ts'
import { metricsLoop } from './metrics-loop.ts'
import { observer } from './observe.ts'
import { workerReconciler } from './reconciler.ts'
import { withFreshMetrics } from './refresh-metrics.ts'
import { type RegionSnapshots, regionSnapshots } from './region-snapshots.ts'

export interface WorkerControllerParts extends ControllerParts {
  readonly machines: Machines
  readonly account: AccountTroubles
  readonly metrics: MachineMetrics
  readonly cml: CmlSystem
  readonly config: WorkerControllerConfig
}

/** Reconciles workers, visits and measures them and finds machines, all under one leadership. */
export function workerController(parts: WorkerControllerParts): Controller {
  const { client, clock, config, logger, meter, account } = parts
  const silent = outages({ clock, logger })
  const cmlSilent = cmlOutages(clock)
  const reads = ec2Outages({ clock, outages: silent, wake: id => void loop.wake(id, 'EC2 answers again') })
  const machines = reads.guard(parts.machines)
  const access = cmlAccess({
    ...parts,
    logins: cmlLogins(client, config.cmlDefaults),
    onChange: id => void loop.wake(id, 'CML access'),
  })
  const shared = {
    ...parts,
    machines,
    reads,
    access,
    cml: access.cml,
    logins: access.logins,
    metrics: account.guardMetrics(parts.metrics),
    settings: settingsCache({ client, clock }),
    snapshots: regionSnapshots({ machines, clock, config }),
    counters: counters(meter),
    board: fleetBoard({ meter, clock, workerSeriesMax: config.workerSeriesMax }),
  }
  const surveying = cmlProbes({ ...shared, wake: id => void loop.wake(id, 'survey') })
  const forgetCml = (id: string) => {
    access.forget(id)
    cmlSilent.forget(id)
  }
  const looking = observer({ ...shared, access: { ...access, forget: forgetCml }, surveys: surveying })
  const measuring = metricsLoop({
    ...shared,
    intervalMs: config.metricsIntervalMs,
    onCmlHeard(worker, answered) {
      looking.cmlHeard(worker.id, answered)
      cmlSilent.heard(worker.id, answered)
    },
    onMeasured: worker => looking.measured(worker.id),
  })
  const observing = withFreshMetrics(looking, measuring.measureNow)
  const loop = workerReconciler({ ...shared, observing, surveys: surveying })
  const discovery = discoveryLoop({ ...shared, wake: id => void loop.wake(id, 'discovery') })
  const { board } = shared
  const later = [
    afterwards(surveying, VISITS_AFTER_MS, clock),
    afterwards(measuring, METRICS_AFTER_MS, clock),
    discovery,
  ]
  const all = allOf('worker-controller', [reads, loop, ...later])
  const led = [board, account, access, cmlSilent].reduce<HostedService>(forgetfulOf, all)
  return {
    service: leaderElected(led, parts.election),
    loop: { ...loop, triggerNow: () => triggeredAnew(loop, shared.snapshots) },
    plan: () => [...discovery.orphans(), ...board.plan()],
    stats: () => shared.counters.snapshot(board.runningWorkers()),
    problems: () => [
      ...account.problems(),
      ...silent.problems(),
      ...access.problems(),
      ...cmlSilent.problems(board.runningIds()),
    ],
    health: () => ({ workers_managed: board.workersManaged(), workers_with_drift: board.workersWithDrift() }),
  }
}

/** A listing from before somebody asked would tell them that nothing has happened. */
function triggeredAnew(loop: Reconciliation, snapshots: RegionSnapshots): boolean {
  snapshots.forget()
  return loop.triggerNow()
}

/** The sweep of a new leader comes first: nobody is helped by numbers while something is left undone. */
const VISITS_AFTER_MS = 5_000
const METRICS_AFTER_MS = 10_000

const afterwards = (service: HostedService, afterMs: number, clock: Clock): HostedService => ({
  name: service.name,
  async run(signal, leadership) {
    await clock.sleep(afterMs, signal)
    await service.run(signal, leadership)
  },
})
