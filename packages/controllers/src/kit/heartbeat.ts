import type { Client } from '@lcm/client/client'
import { CHANGE_KEYS } from '@lcm/contract/resource-kinds'
import type { ChangeKeys } from '@lcm/coordination/change-keys'
import type { ServiceName } from '@lcm/domain/actor'
import { toMs } from '@lcm/domain/instant'
import type { Reason } from '@lcm/domain/reason'
import {
  HEARTBEAT_INTERVAL_MS,
  type InstanceReport,
  PLAN_MAX,
  type PlannedAction,
  PROBLEMS_MAX,
} from '@lcm/domain/service-instance'
import type { Election, HostedService, Logger, Reconciliation } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { Outages } from './dependency-outages.ts'

const CHECK_MS = 500
const API = 'the API'
/** One heartbeat may fail, such as during a restart of the API. */
const FAILURE_MS = 3 * HEARTBEAT_INTERVAL_MS

export interface HeartbeatParts {
  readonly service: ServiceName
  readonly version: string
  readonly client: Client
  readonly changeKeys: ChangeKeys
  readonly election: Election
  readonly loop: Reconciliation
  /** The next actions, when this instance leads. */
  plan(): readonly PlannedAction[]
  /** Problems, each in a sentence. */
  problems(): readonly Reason[]
  readonly outages: Pick<Outages, 'answered' | 'failed'>
  readonly clock: Clock
  readonly logger: Logger
}

export interface Heartbeat extends HostedService {
  /** Error of the last heartbeats when none succeeded for a while; null otherwise. */
  failure(): string | null
}

/** Reports this instance to the API every few seconds and at each change of leadership; receives trigger and resign requests. */
export function heartbeat(parts: HeartbeatParts): Heartbeat {
  const { clock, logger } = parts
  let heardAt = Number.NEGATIVE_INFINITY
  let trouble = 'it has not answered yet'
  let sent: { at: number; leads: string } | null = null
  let asked: { triggers: number; resignations: number } | null = null

  async function beat(signal: AbortSignal): Promise<void> {
    const body = reportOf(parts)
    sent = { at: clock.monotonic(), leads: leadsBy(body) }
    const params = { service: parts.service, instance_id: parts.election.instanceId }
    const answer = await parts.client.call('reportInstance', { params, body, signal })
    heardAt = clock.monotonic()
    const before = asked ?? answer
    asked = answer
    if (!body.is_leader) return
    if (answer.resignations > before.resignations) await parts.election.resign()
    else if (answer.triggers > before.triggers) parts.loop.triggerNow()
  }

  async function beatIfPossible(signal: AbortSignal): Promise<void> {
    try {
      await beat(signal)
      parts.outages.answered(API)
    } catch (err) {
      if (!signal.aborted) parts.outages.failed(API, err)
      trouble = err instanceof Error ? err.message : String(err)
      logger.debug({ err }, 'heartbeat failed')
    }
  }

  const isDue = (): boolean =>
    sent === null || clock.monotonic() - sent.at >= HEARTBEAT_INTERVAL_MS || sent.leads !== leadsBy(reportOf(parts))

  return {
    name: 'heartbeat',
    failure: () => (clock.monotonic() - heardAt < FAILURE_MS ? null : trouble),
    async run(signal) {
      const key = keyWatch(parts, () => {
        sent = null
      })
      const watching = key.run(signal)
      while (!signal.aborted) {
        if (isDue()) await beatIfPossible(signal)
        await clock.sleep(CHECK_MS, signal)
      }
      await watching
    },
  }
}

const leadsBy = ({ is_leader, epoch }: InstanceReport): string => `${is_leader} ${epoch}`

function reportOf({ election, loop, version, plan, problems }: HeartbeatParts): InstanceReport {
  const health = loop.health()
  const status = election.status()
  const is_leader = status.state === 'LEADER' && health.running
  const ages = health.watches.flatMap(watch => (watch.age_ms === null ? [] : [watch.age_ms / 1000]))
  return {
    is_leader,
    epoch: is_leader ? (status.term ?? 0) : 0,
    since: is_leader ? status.since : null,
    software: version,
    queue: { due: health.queue_depth, active: health.active_reconciles },
    retries: health.retries,
    watch: { healthy: health.status === 'healthy', age_seconds: ages.length === 0 ? null : Math.max(...ages) },
    last_sweep: is_leader ? health.last_sweep : null,
    plan: is_leader ? [...plan()].sort(soonestFirst).slice(0, PLAN_MAX) : [],
    problems: problems().slice(0, PROBLEMS_MAX),
  }
}

const soonestFirst = (a: PlannedAction, b: PlannedAction): number => dueMs(a) - dueMs(b)
const dueMs = ({ due_at }: PlannedAction): number => (due_at === null ? 0 : toMs(due_at))

/** A request to the leader changes its service key, which causes a heartbeat at once. */
function keyWatch({ service, changeKeys, clock, logger }: HeartbeatParts, onChange: () => void) {
  const source = changeKeys.source(CHANGE_KEYS.services + service)
  async function follow(signal: AbortSignal): Promise<void> {
    const { revision } = await source.list(signal)
    for await (const message of source.watch(revision, signal)) if (message.type !== 'progress') onChange()
  }
  return {
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await follow(signal).catch(err => logger.debug({ err }, 'the service key is not watched'))
        await clock.sleep(HEARTBEAT_INTERVAL_MS, signal)
      }
    },
  }
}
