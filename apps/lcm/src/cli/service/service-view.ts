import type { Client } from '@lcm/client/client'
import type { AnswerOf } from '@lcm/contract/routes'
import { toMs } from '@lcm/domain/instant'
import { LEADER_SILENT_MS } from '@lcm/domain/service-instance'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import type { Column } from '../terminal/table.ts'
import { ageOf } from '../worker/worker-view.ts'

export type Service = AnswerOf<'listServices'>['items'][number]
export type Replica = Service['instances'][number]

/** A service as a resource: its name is the id, the version of its term is the version. */
export interface ServiceRecord extends Service {
  readonly id: string
  readonly version: number
}

export async function readServices(client: Client, signal: AbortSignal): Promise<ServiceRecord[]> {
  const { items } = await client.call('listServices', { signal })
  return items.map(service => ({ ...service, id: service.service, version: service.term?.version ?? 0 }))
}

export const isSilent = ({ seen_at }: Replica, nowMs: number): boolean => nowMs - toMs(seen_at) > LEADER_SILENT_MS

export const leaderOf = ({ leader, instances }: Service): Replica | null =>
  instances.find(each => each.instance_id === leader?.instance_id) ?? null

/** A replica that claims to lead a past term is `deposed`. */
export function roleOf(replica: Replica, { leader }: Service): string {
  if (leader?.instance_id === replica.instance_id) return 'leader'
  return replica.is_leader ? 'deposed' : 'standby'
}

/** Problems of a replica; empty if it is healthy. */
export const troublesOf = (replica: Replica, service: Service, nowMs: number): string[] => [
  ...(isSilent(replica, nowMs) ? [`no heartbeat for ${ageOf(replica.seen_at, nowMs)}`] : []),
  ...(roleOf(replica, service) === 'deposed' ? ['deposed, but still claims to lead'] : []),
  ...(replica.watch.healthy ? [] : ['receives no change notifications']),
  ...replica.problems.map(({ message }) => message),
]

type State = 'healthy' | 'degraded' | 'no leader' | 'not running'

export function stateOf(service: Service, nowMs: number): State {
  if (service.instances.length === 0) return 'not running'
  if (service.leader === null) return 'no leader'
  return service.instances.some(each => troublesOf(each, service, nowMs).length > 0) ? 'degraded' : 'healthy'
}

export function inkOfState(state: State, colors: Colors) {
  if (state === 'healthy') return colors.green
  return state === 'degraded' ? colors.yellow : colors.red
}

/** Age of the last change notification, and whether the watch is broken. */
export function watchText({ watch: { healthy, age_seconds } }: Replica): string {
  const age = age_seconds === null ? 'never' : `${formatDuration(age_seconds * 1000)} ago`
  return healthy ? age : `broken, ${age}`
}

export const queueText = ({ queue }: Replica): string => `${queue.due} queued, ${queue.active} active`

export const sweepText = ({ last_sweep }: Replica, nowMs: number): string =>
  last_sweep === null ? 'none yet' : `${ageOf(last_sweep, nowMs)} ago`

/** One row per service, with the figures of its leader. */
export function serviceColumns(nowMs: number, colors: Colors): readonly Column<ServiceRecord>[] {
  const ofLeader = (text: (leader: Replica) => string) => (service: Service) => {
    const leader = leaderOf(service)
    return leader === null ? '' : text(leader)
  }
  return [
    { title: 'SERVICE', text: ({ service }) => service },
    {
      title: 'STATE',
      text: service => stateOf(service, nowMs),
      paint: (text, service) => inkOfState(stateOf(service, nowMs), colors)(text),
    },
    { title: 'REPLICAS', text: ({ instances }) => String(instances.length), isNumber: true },
    { title: 'LEADER', text: ({ leader }) => leader?.instance_id ?? '' },
    { title: 'TERM', text: ({ leader, term }) => String(leader?.epoch ?? term?.epoch ?? ''), isNumber: true },
    { title: 'SINCE', text: ({ leader }) => (leader?.since ? `${ageOf(leader.since, nowMs)} ago` : '') },
    { title: 'QUEUE', text: ofLeader(queueText) },
    { title: 'RETRIES', text: ofLeader(({ retries }) => String(retries)), isNumber: true },
    { title: 'WATCH', text: ofLeader(watchText) },
    { title: 'LAST SWEEP', text: ofLeader(leader => sweepText(leader, nowMs)) },
  ]
}

/** Whether a change is worth printing; ages and queues change all the time. */
export const isOtherService = (before: Service, after: Service): boolean => signatureOf(before) !== signatureOf(after)

const signatureOf = ({ leader, term, instances }: Service): string =>
  JSON.stringify([
    leader?.instance_id,
    leader?.epoch ?? term?.epoch,
    instances.map(({ instance_id, watch, problems }) => [instance_id, watch.healthy, problems]),
  ])
