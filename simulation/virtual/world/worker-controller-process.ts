import { apiClient } from '@lcm/client/client'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute } from '@lcm/cloud/compute'
import type { MachineMetrics } from '@lcm/cloud/machine-metrics'
import type { Dispatch } from '@lcm/contract/route-spec'
import { decisionLog } from '@lcm/controllers/kit/decision-log'
import { registeredElection } from '@lcm/controllers/kit/registered-election'
import { WORKER_CONTROLLER_DEFAULTS } from '@lcm/controllers/worker/config'
import { workerController } from '@lcm/controllers/worker/controller'
import { leaderOnlyCompute } from '@lcm/controllers/worker/leader-only-compute'
import type { LocalCoordination } from '@lcm/coordination/local/coordination'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { type Election, type HostedService, type Logger, silentMeter } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { VirtualTime } from '@lcm/testkit/virtual-time'
import { type ControllerProcess, processOf, syncedClock } from './controller-process.ts'
import type { Settings } from './controller-settings.ts'
import { CML_LOGIN } from './planted-secrets.ts'
import type { PortCalls } from './port-calls.ts'
import { callName, traced } from './traced-dispatch.ts'

export const FLEET = 'simulated-fleet'

export const REGIONS = {
  'us-east-1': { security_group_ids: [], subnets: ['subnet-use1a', 'subnet-use1b'], key_name: null, default_tags: {} },
}

export interface ControllerEnvironment {
  readonly time: VirtualTime
  readonly calls: PortCalls
  readonly coordination: LocalCoordination
  readonly dispatch: Dispatch
  readonly token: string
  readonly compute: Compute
  readonly cml: CmlSystem
  readonly metrics: MachineMetrics
  readonly settings: Settings
  readonly logger: Logger
  clockOf(clock: Clock, own: Clock): Clock
  elect(election: Election): Election
  run(service: HostedService): () => void
}

/** A process id, and the clock error of its machine. */
export interface Started {
  readonly instanceId: string
  readonly aheadMs?: number
}

export function startWorkerController(
  { instanceId, aheadMs = 0 }: Started,
  environment: ControllerEnvironment,
): ControllerProcess {
  const { coordination, token, logger } = environment
  const incarnation = environment.calls.incarnation()
  incarnation.jump(aheadMs)
  const { clock, hearing } = syncedClock(incarnation, environment.clockOf)
  const client = apiClient(hearing(incarnation.watch(callName, traced(environment.dispatch, environment.time))), {
    token,
  })
  const decisions = decisionLog({
    client: apiClient(hearing(environment.dispatch), { token }),
    clock,
    logger,
    instanceId,
  })
  const election = environment.elect(incarnation.lateElection(coordination.election('worker-controller', instanceId)))
  const led = leaderOnlyCompute({
    compute: incarnation.watchAll('ec2', environment.compute),
    election: registeredElection({ election, service: 'worker-controller', client, clock, logger }),
    clock,
  })
  const controller = workerController({
    ...led,
    metrics: incarnation.watchAll('cloudwatch', environment.metrics),
    client,
    decisions,
    cml: incarnation.watchAll('cml', environment.cml),
    changeKeys: {
      ...coordination.changeKeys,
      source: prefix => incarnation.lateWatch(coordination.changeKeys.source(prefix)),
    },
    clock,
    logger,
    meter: silentMeter,
    config: {
      ...WORKER_CONTROLLER_DEFAULTS,
      fleet: FLEET,
      regions: REGIONS,
      policy: WORKER_POLICY,
      cmlDefaults: CML_LOGIN,
      ...environment.settings.worker,
    },
  })
  return processOf(controller, {
    instanceId,
    incarnation,
    coordination,
    run: environment.run,
    companion: decisions.service,
  })
}
