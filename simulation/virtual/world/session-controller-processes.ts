import { apiClient } from '@lcm/client/client'
import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { Dispatch } from '@lcm/contract/route-spec'
import type { Controller } from '@lcm/controllers/kit/controller-types'
import { decisionLog } from '@lcm/controllers/kit/decision-log'
import { outages } from '@lcm/controllers/kit/dependency-outages'
import { heartbeat } from '@lcm/controllers/kit/heartbeat'
import { registeredElection } from '@lcm/controllers/kit/registered-election'
import { LABLET_CONTROLLER_DEFAULTS } from '@lcm/controllers/lablet/config'
import { labletController } from '@lcm/controllers/lablet/controller'
import { RESOURCE_SCHEDULER_DEFAULTS } from '@lcm/controllers/scheduler/config'
import { resourceScheduler } from '@lcm/controllers/scheduler/controller'
import type { LocalCoordination } from '@lcm/coordination/local/coordination'
import { allOf, type Election, type HostedService, type Logger, silentMeter } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { VirtualTime } from '@lcm/testkit/virtual-time'
import { type ControllerProcess, processOf, syncedClock } from './controller-process.ts'
import type { Settings } from './controller-settings.ts'
import { CML_LOGIN } from './planted-secrets.ts'
import { type Incarnation, type PortCalls, portCalls } from './port-calls.ts'
import { callName, traced } from './traced-dispatch.ts'

export const SESSION_SERVICES = ['resource-scheduler', 'lablet-controller'] as const
export type SessionService = (typeof SESSION_SERVICES)[number]

/** The two session controllers. Each has its own port calls, so that each can be crashed separately. */
export interface SessionProcesses {
  start(service: SessionService, instanceId: string, aheadMs?: number): ControllerProcess
  readonly calls: Readonly<Record<SessionService, PortCalls>>
}

export interface SessionEnvironment {
  readonly time: VirtualTime
  readonly coordination: LocalCoordination
  /** The labs port of that process. */
  labsOf(instanceId: string): CmlLabs
  readonly tokens: { readonly scheduler: string; readonly lablets: string }
  dispatch(by: string, service: SessionService): Dispatch
  readonly settings: Settings
  readonly logger: Logger
  elect(election: Election): Election
  clockOf(clock: Clock, own: Clock): Clock
  run(service: HostedService): () => void
}

export function sessionProcesses(environment: SessionEnvironment): SessionProcesses {
  const calls = { 'resource-scheduler': portCalls(environment.time), 'lablet-controller': portCalls(environment.time) }
  return {
    calls,
    start(service, instanceId, aheadMs = 0) {
      const incarnation = calls[service].incarnation()
      incarnation.jump(aheadMs)
      const { settings } = environment
      const shared = partsOf(environment, incarnation, { service, instanceId })
      const controller =
        service === 'resource-scheduler'
          ? resourceScheduler({
              ...shared,
              config: { ...RESOURCE_SCHEDULER_DEFAULTS, region: 'us-east-1', ...settings.scheduler },
            })
          : labletController({
              ...shared,
              labs: incarnation.watchAll('labs', environment.labsOf(instanceId)),
              sources: { read: async source => Promise.reject(new Error(`${source} not found`)) },
              config: { ...LABLET_CONTROLLER_DEFAULTS, cmlDefaults: CML_LOGIN, ...settings.lablets },
            })
      const { coordination, run } = environment
      const companion = withHeartbeat(controller, shared, service)
      return processOf(controller, { instanceId, incarnation, coordination, run, companion })
    },
  }
}

/** The idle policy follows a plan only while its scheduler reports. */
function withHeartbeat(
  { loop, plan }: Controller,
  parts: ReturnType<typeof partsOf>,
  service: SessionService,
): HostedService {
  if (service !== 'resource-scheduler') return parts.decisions.service
  const { quietClient: client, clock, logger } = parts
  const shared = { ...parts, client, service, loop, plan, version: '0.0.0', problems: () => [] }
  return allOf('companions', [parts.decisions.service, heartbeat({ ...shared, outages: outages({ clock, logger }) })])
}

interface Named {
  readonly service: SessionService
  readonly instanceId: string
}

/** The ports of either controller, which end with its incarnation. */
function partsOf(
  { time, coordination, tokens, ...environment }: SessionEnvironment,
  incarnation: Incarnation,
  named: Named,
) {
  const { service, instanceId } = named
  const { clock, hearing } = syncedClock(incarnation, environment.clockOf)
  const { logger } = environment
  const token = service === 'resource-scheduler' ? tokens.scheduler : tokens.lablets
  const dispatch = environment.dispatch(instanceId, service)
  const client = apiClient(hearing(incarnation.watch(sessionCallName, traced(dispatch, time))), { token })
  const quietClient = apiClient(hearing(dispatch), { token })
  const election = environment.elect(incarnation.lateElection(coordination.election(service, instanceId)))
  return {
    client,
    clock,
    logger,
    meter: silentMeter,
    election: registeredElection({ election, service, client, clock, logger }),
    quietClient,
    decisions: decisionLog({ client: quietClient, clock, logger, instanceId }),
    changeKeys: {
      ...coordination.changeKeys,
      source: (prefix: string) => incarnation.lateWatch(coordination.changeKeys.source(prefix)),
    },
  }
}

/** A status report has its pipeline step in its name, so that each step is a crash point of its own. */
function sessionCallName(request: { method: string; url: string; body: string | null }): string {
  const name = callName(request)
  const { changes } = JSON.parse(request.body ?? '{}')
  if (changes === undefined) return name
  const steps: [string, { status: string }][] = Object.entries(changes.pipeline?.steps ?? {})
  const last = steps.filter(([, { status }]) => status !== 'pending').at(-1)
  const parts = [changes.status, last && `${last[0]} ${last[1].status}`].filter(each => each !== undefined)
  return [name, ...parts].join(' ')
}
