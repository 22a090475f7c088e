import { countText } from '@lcm/domain/text/format-amounts'
import { type Fact, factLines, section, tableOf } from '../terminal/description-sections.ts'
import type { Colors } from '../terminal/output.ts'
import { type Column, printable } from '../terminal/table.ts'
import { ageOf } from '../worker/worker-view.ts'
import {
  inkOfState,
  queueText,
  type Replica,
  roleOf,
  type Service,
  stateOf,
  sweepText,
  troublesOf,
  watchText,
} from './service-view.ts'

/** The complete description of a service and its replicas. */
export function describeService(service: Service, nowMs: number, colors: Colors): string[] {
  const troubles = service.instances.flatMap(replica =>
    troublesOf(replica, service, nowMs).map(trouble => printable(`${replica.instance_id}: ${trouble}`)),
  )
  return [
    colors.bold(service.service),
    ...factLines(factsOf(service, nowMs, colors), colors),
    ...section('Replicas', tableOf(replicaColumns(service, nowMs), service.instances), colors),
    ...section('Problems', [...idleness(service), ...troubles], colors),
  ]
}

function factsOf(service: Service, nowMs: number, colors: Colors): readonly Fact[] {
  const { leader, term } = service
  const state = stateOf(service, nowMs)
  return [
    ['state', inkOfState(state, colors)(state)],
    ['leader', leader === null ? null : printable(leader.instance_id)],
    ['term', termText(service, nowMs)],
    [
      'requests',
      term === null ? null : `${countText(term.triggers, 'trigger')}, ${countText(term.resignations, 'resignation')}`,
    ],
  ]
}

function termText({ leader, term }: Service, nowMs: number): string | null {
  if (leader === null) return term === null ? null : `${term.epoch} (ended)`
  return `${leader.epoch}${leader.since === null ? '' : ` for ${ageOf(leader.since, nowMs)}`}`
}

function idleness({ service, leader, instances }: Service): string[] {
  if (leader !== null) return []
  return instances.length === 0
    ? [`not running: start it with \`lcm serve ${service}\`, or check its process`]
    : ['no leader: no decisions until a replica leads']
}

const replicaColumns = (service: Service, nowMs: number): readonly Column<Replica>[] => [
  { title: 'REPLICA', text: ({ instance_id }) => instance_id },
  { title: 'ROLE', text: replica => roleOf(replica, service) },
  { title: 'TERM', text: ({ epoch }) => String(epoch), isNumber: true },
  { title: 'SINCE', text: ({ since }) => (since === null ? '' : `${ageOf(since, nowMs)} ago`) },
  { title: 'QUEUE', text: queueText },
  { title: 'RETRIES', text: ({ retries }) => String(retries), isNumber: true },
  { title: 'WATCH', text: watchText },
  { title: 'LAST SWEEP', text: replica => sweepText(replica, nowMs) },
  { title: 'HEARTBEAT', text: ({ seen_at }) => `${ageOf(seen_at, nowMs)} ago` },
  { title: 'SOFTWARE', text: ({ software }) => software },
]
