import { createHash } from 'node:crypto'
import { apiClient } from '@lcm/client/client'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Compute } from '@lcm/cloud/compute'
import type { MachineMetrics } from '@lcm/cloud/machine-metrics'
import type { Dispatch } from '@lcm/contract/route-spec'
import { apiClock } from '@lcm/controllers/kit/api-clock'
import type { Controller } from '@lcm/controllers/kit/controller-types'
import { decisionLog } from '@lcm/controllers/kit/decision-log'
import { registeredElection } from '@lcm/controllers/kit/registered-election'
import { WORKER_CONTROLLER_DEFAULTS } from '@lcm/controllers/worker/config'
import { workerController } from '@lcm/controllers/worker/controller'
import { leaderOnlyCompute } from '@lcm/controllers/worker/leader-only-compute'
import type { LocalCoordination } from '@lcm/coordination/local/coordination'
import type { Reason } from '@lcm/domain/reason'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { type Election, type HostedService, type Logger, silentMeter } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { VirtualTime } from '@lcm/testkit/virtual-time'
import type { Settings } from './controller-settings.ts'
import { CML_LOGIN } from './planted-secrets.ts'
import type { Incarnation, PortCalls } from './port-calls.ts'

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

/** A process of a controller. */
export interface ControllerProcess extends Pick<Controller, 'plan' | 'stats'> {
  problems(): readonly Reason[]
  readonly instanceId: string
  /** Whether that incarnation belongs to this process. */
  isIncarnation(incarnation: Incarnation): boolean
  /** Dies at once, as by kill -9. */
  kill(): void
  /** Stops as by SIGSTOP until it is thawed. */
  freeze(): void
  thaw(): void
  /** Sets the wall clock of this process only. */
  jumpClock(ms: number): void
}

/** A process id, and the clock error of its machine. */
export interface Started {
  readonly instanceId: string
  readonly aheadMs?: number
}

/** How far a controller's clock may be ahead of the API's before a response corrects it. */
export const CLOCK_MS_MAX = 3_000

/** The clock that `serve` gives a controller: synchronized with the API by the `Date` of every response. */
export function syncedClock({ clock: own }: Incarnation, clockOf: ControllerEnvironment['clockOf']) {
  const { clock, hearing } = apiClock(own)
  return { clock: clockOf(clock, own), hearing }
}

export function startController(
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

interface Running {
  readonly instanceId: string
  readonly incarnation: Incarnation
  readonly coordination: LocalCoordination
  readonly companion: HostedService
  run(service: HostedService): () => void
}

/** Runs a controller and its companion service until it is killed. */
export function processOf(controller: Controller, running: Running): ControllerProcess {
  const { instanceId, incarnation, coordination, run } = running
  const abandoned = [controller.service, running.companion].map(run)
  return {
    instanceId,
    isIncarnation: each => each === incarnation,
    plan: controller.plan,
    problems: () => controller.problems?.() ?? [],
    stats: controller.stats,
    freeze: incarnation.freeze,
    thaw: incarnation.thaw,
    jumpClock: incarnation.jump,
    kill() {
      incarnation.end()
      coordination.faults.crash(instanceId)
      for (const abandon of abandoned) abandon()
    },
  }
}

/** Without ids, so that the same call has the same name in every run. */
export const callName = ({ method, url }: { readonly method: string; readonly url: string }): string => {
  const [path = ''] = url.split('?')
  const last = path.split('/').at(-1) ?? ''
  return `api.${method} ${last.replace(/^(w|ls|ld|lr)-.*/, (_, prefix: string) => RESOURCES[prefix] ?? '')}`
}
const RESOURCES: Readonly<Record<string, string>> = { w: 'worker', ls: 'session', ld: 'definition', lr: 'lab' }

/** Adds every write except metrics to the trace and the behavior fingerprint. */
export function traced(dispatch: Dispatch, time: VirtualTime): Dispatch {
  return async request => {
    const response = await dispatch(request)
    if (request.method === 'GET' || request.url.endsWith('/metrics')) return response
    const text = typeof response.body === 'string' ? response.body : ''
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 8)
    time.trace(`${request.method} ${request.url} ${response.status} ${digest}${reasonIn(request.body)}`)
    time.behavior(`${request.method} ${pathOf(request.url)} ${response.status} ${statusesIn(request.body)}`)
    return response
  }
}

const pathOf = (url: string): string => url.split('?')[0] ?? ''

/** The status and the worker in a write, without texts. */
function statusesIn(body: string | null): string {
  const { changes, worker_id } = JSON.parse(body ?? '{}')
  return [changes?.status, changes?.worker_id, worker_id].map(each => each ?? '-').join(' ')
}

/** The reason in a write, to make the trace readable. */
function reasonIn(body: string | null): string {
  const { decision, changes } = JSON.parse(body ?? '{}')
  if (decision === undefined) return ''
  return ` ${changes?.status ?? ''} (${decision.because.code})`
}
