import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { AccountCircuitBreaker } from '@lcm/cloud/compute-wrappers/account-circuit-breaker'
import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import type { MachineMetrics } from '@lcm/cloud/machine-metrics'
import { allOf, type HostedService, leaderElected, type Reconciliation } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { Controller, ControllerParts } from '../kit/controller-types.ts'
import { outages } from '../kit/dependency-outages.ts'
import { settingsCache } from '../kit/settings-cache.ts'
import { type TermMemory, termMemory } from '../kit/term-memory.ts'
import { wakeRelay } from '../kit/wake-relay.ts'
import { cmlChecks } from './checks/cml-checks.ts'
import { lostLabsWatch } from './checks/lost-labs-watch.ts'
import { cmlLogins } from './cml-logins.ts'
import { cmlProbes } from './cml-probes.ts'
import { cmlRefusals } from './cml-refusals.ts'
import type { WorkerControllerConfig } from './config.ts'
import { discoveryLoop } from './discovery-loop.ts'
import { ec2Outages } from './ec2-circuit-breaker.ts'
import { type RegionSnapshots, regionSnapshots } from './machine-list-cache.ts'
import { metricsLoop } from './metrics-loop.ts'
import { workerReconciler } from './reconciler.ts'
import { workerCounters, workerSeries } from './report.ts'
import { type WorkerMemory, workerMemory } from './term-memory.ts'

export interface WorkerControllerParts extends ControllerParts {
  readonly machines: BatchedCompute
  readonly account: AccountCircuitBreaker
  readonly metrics: MachineMetrics
  readonly cml: CmlSystem
  readonly config: WorkerControllerConfig
}

/** Reconciles, probes and measures workers and discovers machines, all in one leadership term. */
export function workerController(parts: WorkerControllerParts): Controller {
  const { client, clock, config, logger, meter, account } = parts
  const wakes = wakeRelay()
  const series = workerSeries(meter, config.workerSeriesMax)
  const counting = workerCounters(meter)
  const unanswered = outages({ clock, logger })
  const reads = ec2Outages({ clock, outages: unanswered, wake: id => void wakes.wake(id, 'EC2 answers again') })
  const machines = reads.guard(parts.machines)
  const access = cmlRefusals({
    ...parts,
    logins: cmlLogins(client, config.cmlDefaults),
    onChange: id => void wakes.wake(id, 'CML access'),
  })
  const memory = termMemory(
    () => workerMemory(clock, config),
    () => {
      for (const each of [series, account, access]) each.clear()
    },
  )
  const shared = {
    ...parts,
    machines,
    reads,
    access,
    memory,
    series,
    cml: access.cml,
    logins: access.logins,
    metrics: account.guardMetrics(parts.metrics),
    settings: settingsCache({ client, clock }),
    snapshots: regionSnapshots({ machines, clock, config }),
    counters: counting,
  }
  const probes = cmlProbes({ ...shared, wake: id => void wakes.wake(id, 'survey') })
  const { checks, lostLabs } = silentProblems(parts, memory, (id, cause) => void wakes.wake(id, cause))
  const measuring = metricsLoop({
    ...shared,
    intervalMs: config.metricsIntervalMs,
    lostLabs,
    onMeasured: ({ id }) => memory.current().metrics.measured(id, clock.now()),
  })
  const discovery = discoveryLoop({ ...shared, wake: id => void wakes.wake(id, 'discovery') })
  const loop = workerReconciler({ ...shared, probes, checks, measureNow: measuring.measureNow })
  wakes.connect(loop)
  const fleet = () => memory.current().fleet
  const later = [delayed(probes, PROBES_AFTER_MS, clock), delayed(measuring, METRICS_AFTER_MS, clock), discovery]
  const all = allOf('worker-controller', [reads, loop, checks, ...later])
  return {
    service: leaderElected(memory.during(all), parts.election),
    loop: { ...loop, triggerNow: () => triggerFresh(loop, shared.snapshots) },
    plan: () => [...discovery.orphans(), ...fleet().plan()],
    stats: () => counting.snapshot(fleet().runningIds().length),
    problems: () => [
      ...account.problems(),
      ...unanswered.problems(),
      ...access.problems(),
      ...memory.current().cmlOutages.problems(fleet().runningIds()),
    ],
    health: () => ({ workers_managed: fleet().workersManaged(), workers_with_drift: fleet().workersWithDrift() }),
  }
}

/** What EC2 does not show: a CML that stops answering, and a restart that is over before a check. */
function silentProblems(
  { client, cml, clock, logger, config }: WorkerControllerParts,
  memory: TermMemory<WorkerMemory>,
  wake: (workerId: string, cause: string) => void,
) {
  return {
    checks: cmlChecks({
      ...{ cml, clock, logger, intervalMs: config.cmlCheckIntervalMs },
      onSuspect(id) {
        memory.current().observations.suspectCml(id)
        wake(id, 'CML does not answer')
      },
    }),
    lostLabs: lostLabsWatch({
      ...{ client, cml, clock, counted: () => memory.current().counted },
      onLost({ id }, lost) {
        memory.current().observations.lostLabsFound(id, lost)
        wake(id, 'labs lost')
      },
    }),
  }
}

/** A trigger must not be answered from a listing that is older than the trigger. */
function triggerFresh(loop: Reconciliation, snapshots: RegionSnapshots): boolean {
  snapshots.forget()
  return loop.triggerNow()
}

/** The first sweep of a new leader comes before probes and metrics. */
const PROBES_AFTER_MS = 5_000
const METRICS_AFTER_MS = 10_000

const delayed = (service: HostedService, afterMs: number, clock: Clock): HostedService => ({
  name: service.name,
  async run(signal, leadership) {
    await clock.sleep(afterMs, signal)
    await service.run(signal, leadership)
  },
})
