import type { AnswerOf } from '@lcm/contract/routes'
import { HEARTBEAT_INTERVAL_MS } from '@lcm/domain/fleet/service-instance'
import { toMs } from '@lcm/domain/instant'

export type Service = AnswerOf<'listServices'>['items'][number]
export type Replica = Service['instances'][number]
export type PlanItem = AnswerOf<'getFleetPlan'>['items'][number]

/** After so many missed heartbeats what it said last may not be true any more. */
const MISSED_MAX = 3

export type ReplicaRole = 'leader' | 'standby' | 'deposed'

/** Who says that it leads a term that is over has not noticed yet. */
export function roleOf(replica: Replica, { leader }: Service): ReplicaRole {
  if (leader?.instance_id === replica.instance_id) return 'leader'
  return replica.is_leader ? 'deposed' : 'standby'
}

/** What is wrong with a replica, in a word or two; none when all is well. */
export function problemsOf(replica: Replica, service: Service, nowMs: number): string[] {
  return [
    ...(nowMs - toMs(replica.seen_at) > MISSED_MAX * HEARTBEAT_INTERVAL_MS ? ['stale'] : []),
    ...(roleOf(replica, service) === 'deposed' ? ['thinks that it leads'] : []),
    ...(replica.watch.healthy ? [] : ['hears of no changes']),
    ...replica.problems,
  ]
}

export type Health = { readonly tone: 'green' | 'orange' | 'red'; readonly text: string }

export function healthOf(service: Service, nowMs: number): Health {
  if (service.instances.length === 0) return { tone: 'red', text: 'nobody runs it' }
  if (service.leader === null) return { tone: 'red', text: 'nobody leads' }
  const troubled = service.instances.filter(each => problemsOf(each, service, nowMs).length > 0).length
  return troubled === 0 ? { tone: 'green', text: 'healthy' } : { tone: 'orange', text: 'degraded' }
}

/** What a leader was asked, when, and in which term it was then. */
export interface LeaderRequest {
  readonly what: 'trigger' | 'resign'
  readonly atMs: number
  readonly epoch: number
}

/** A leader hears what it was asked in the answer to its next heartbeat. Whether it stepped down, its term tells. */
export function isFulfilled({ what, atMs, epoch }: LeaderRequest, { leader, instances }: Service): boolean {
  if (leader === null) return false
  if (leader.epoch > epoch) return true
  const heardAt = instances.find(each => each.instance_id === leader.instance_id)?.seen_at ?? null
  return what === 'trigger' && heardAt !== null && toMs(heardAt) >= atMs
}

/** By service in the order of services; what is due first comes first, and what is due at once before that. */
export function planByService(items: readonly PlanItem[], services: readonly string[]): [string, PlanItem[]][] {
  const dueMs = ({ due_at }: PlanItem) => (due_at === null ? Number.NEGATIVE_INFINITY : toMs(due_at))
  const names = [...new Set([...services, ...items.map(({ service }) => service)])]
  return names.map(name => [
    name,
    items.filter(({ service }) => service === name).toSorted((a, b) => (dueMs(a) < dueMs(b) ? -1 : 1)),
  ])
}
