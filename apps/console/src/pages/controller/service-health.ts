import type { AnswerOf } from '@lcm/contract/routes'
import { toMs } from '@lcm/domain/instant'
import { HEARTBEAT_INTERVAL_MS } from '@lcm/domain/service-instance'

export type Service = AnswerOf<'listServices'>['items'][number]
export type Replica = Service['instances'][number]
export type PlanItem = AnswerOf<'getFleetPlan'>['items'][number]

/** After this many missed heartbeats a replica counts as stale. */
const MISSED_MAX = 3

export type ReplicaRole = 'leader' | 'standby' | 'deposed'

/** A replica that still claims an old term is deposed. */
export function roleOf(replica: Replica, { leader }: Service): ReplicaRole {
  if (leader?.instance_id === replica.instance_id) return 'leader'
  return replica.is_leader ? 'deposed' : 'standby'
}

/** Problems of a replica, each in a few words. */
export function problemsOf(replica: Replica, service: Service, nowMs: number): string[] {
  return [
    ...(nowMs - toMs(replica.seen_at) > MISSED_MAX * HEARTBEAT_INTERVAL_MS ? ['stale'] : []),
    ...(roleOf(replica, service) === 'deposed' ? ['claims leadership'] : []),
    ...(replica.watch.healthy ? [] : ['no change events']),
    ...replica.problems.map(({ message }) => message),
  ]
}

export type Health = { readonly tone: 'green' | 'orange' | 'red'; readonly text: string }

export function healthOf(service: Service, nowMs: number): Health {
  if (service.instances.length === 0) return { tone: 'red', text: 'not running' }
  if (service.leader === null) return { tone: 'red', text: 'no leader' }
  const troubled = service.instances.filter(each => problemsOf(each, service, nowMs).length > 0).length
  return troubled === 0 ? { tone: 'green', text: 'healthy' } : { tone: 'orange', text: 'degraded' }
}

/** A request to a leader, with its time and the leader's term. */
export interface LeaderRequest {
  readonly what: 'trigger' | 'resign'
  readonly atMs: number
  readonly epoch: number
}

/** A leader receives requests with its next heartbeat. A new term shows that it resigned. */
export function isFulfilled({ what, atMs, epoch }: LeaderRequest, { leader, instances }: Service): boolean {
  if (leader === null) return false
  if (leader.epoch > epoch) return true
  const seenAt = instances.find(each => each.instance_id === leader.instance_id)?.seen_at ?? null
  return what === 'trigger' && seenAt !== null && toMs(seenAt) >= atMs
}

/** Plan per service, in the order of `services`. Actions that are due now come first. */
export function planByService(items: readonly PlanItem[], services: readonly string[]): [string, PlanItem[]][] {
  const dueMs = ({ due_at }: PlanItem) => (due_at === null ? Number.NEGATIVE_INFINITY : toMs(due_at))
  const names = [...new Set([...services, ...items.map(({ service }) => service)])]
  return names.map(name => [
    name,
    items.filter(({ service }) => service === name).toSorted((a, b) => (dueMs(a) < dueMs(b) ? -1 : 1)),
  ])
}
