import type { Client } from '@lcm/client/client'
import type { AnswerOf } from '@lcm/contract/routes'
import { LEADER_SILENT_MS } from '@lcm/domain/fleet/service-instance'
import { toMs } from '@lcm/domain/instant'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import type { Column } from '../terminal/table.ts'
import { ageOf } from '../worker/worker-view.ts'

export type Service = AnswerOf<'listServices'>['items'][number]
export type Replica = Service['instances'][number]

/** A service as commands list it: its name is its id, and its version that of its term. */
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

/** Who says that it leads a term that is over has not noticed yet. */
export function roleOf(replica: Replica, { leader }: Service): string {
  if (leader?.instance_id === replica.instance_id) return 'leads'
  return replica.is_leader ? 'deposed' : 'stands by'
}

/** What is wrong with a replica, each in a few words; none when all is well. */
export const troublesOf = (replica: Replica, service: Service, nowMs: number): string[] => [
  ...(isSilent(replica, nowMs) ? [`not heard of for ${ageOf(replica.seen_at, nowMs)}`] : []),
  ...(roleOf(replica, service) === 'deposed' ? ['thinks that it leads'] : []),
  ...(replica.watch.healthy ? [] : ['hears of no changes']),
  ...replica.problems,
]

type State = 'healthy' | 'degraded' | 'nobody leads' | 'nobody runs it'

export function stateOf(service: Service, nowMs: number): State {
  if (service.instances.length === 0) return 'nobody runs it'
  if (service.leader === null) return 'nobody leads'
  return service.instances.some(each => troublesOf(each, service, nowMs).length > 0) ? 'degraded' : 'healthy'
}

export function inkOfState(state: State, colors: Colors) {
  if (state === 'healthy') return colors.green
  return state === 'degraded' ? colors.yellow : colors.red
}

/** How long ago it heard of changes; a watch that is broken is said to be. */
export function watchText({ watch: { healthy, age_seconds } }: Replica): string {
  const age = age_seconds === null ? 'never' : `${formatDuration(age_seconds * 1000)} ago`
  return healthy ? age : `silent, ${age}`
}

export const queueText = ({ queue }: Replica): string => `${queue.due} due, ${queue.active} in hand`

export const sweepText = ({ last_sweep }: Replica, nowMs: number): string =>
  last_sweep === null ? 'none yet' : `${ageOf(last_sweep, nowMs)} ago`

/** One row per service, with the figures of who leads. */
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

/** Ages and queues change with every look, and are no news. */
export const isOtherService = (before: Service, after: Service): boolean => newsIn(before) !== newsIn(after)

const newsIn = ({ leader, term, instances }: Service): string =>
  JSON.stringify([
    leader?.instance_id,
    leader?.epoch ?? term?.epoch,
    instances.map(({ instance_id, watch, problems }) => [instance_id, watch.healthy, problems]),
  ])
