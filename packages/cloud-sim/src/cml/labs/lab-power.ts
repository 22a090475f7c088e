import { CmlRefusal } from '../http-messages.ts'
import { quotaAt } from '../license/licensing-record.ts'
import { type CmlServerContext, isReady, scaledMs } from '../server-context.ts'
import type { CmlLab, LabNode } from './lab.ts'
import { isStopping, isUp, moved, nodeStateAt } from './lab-element-states.ts'
import { relaunched, withNodes } from './launch-queue.ts'
import { withoutTyped } from './node-configuration.ts'
import { needsLicense } from './node-definitions.ts'

/** Labs that an act changed, and how many launches it made. */
export interface PowerChange {
  readonly labs: readonly CmlLab[]
  readonly launches: number
}

type Chosen = (node: LabNode) => boolean

const STOPPING_S = 3
const WIPING_S = 1

/** Nodes that run already are left alone. All of them start or, where that can't be, none. */
export function startNodes(context: CmlServerContext, lab: CmlLab, chosen: Chosen): PowerChange {
  const { nowMs, server } = context
  const isDown = (node: LabNode) => !isUp(nodeStateAt(node, nowMs)) || isStopping(node, nowMs)
  const starting = lab.nodes.filter(node => chosen(node) && isDown(node))
  if (starting.length === 0) return { labs: [], launches: 0 }
  if (!isReady(context)) throw new CmlRefusal(400, 'No compute host is ready to start nodes.')
  checkQuota(context, starting)
  const started = withNodes(lab, node => {
    const place = starting.indexOf(node)
    if (place < 0) return node
    const queued = moved(node, nowMs, [{ state: 'QUEUED', from_ms: nowMs }])
    return { ...queued, launch_number: server.launches_made + place }
  })
  return { labs: relaunched(context, exchanged(context, started)), launches: starting.length }
}

export function stopNodes(context: CmlServerContext, lab: CmlLab, chosen: Chosen): PowerChange {
  const { nowMs } = context
  const stopped = withNodes(lab, node => {
    const state = nodeStateAt(node, nowMs)
    if (!chosen(node) || !isUp(state) || isStopping(node, nowMs)) return node
    const from_ms = state === 'QUEUED' ? nowMs : nowMs + scaledMs(context, STOPPING_S)
    return moved(node, nowMs, [{ state: 'STOPPED', from_ms }])
  })
  return { labs: relaunched(context, exchanged(context, stopped)), launches: 0 }
}

export function wipeNodes(context: CmlServerContext, lab: CmlLab, chosen: Chosen): PowerChange {
  const { nowMs } = context
  const running = lab.nodes.find(node => chosen(node) && isUp(nodeStateAt(node, nowMs)))
  if (running) throw new CmlRefusal(400, `Node ${running.label} must be stopped before it can be wiped.`)
  const wiped = withNodes(lab, node => {
    if (!chosen(node) || node.timeline.at(-1)?.state !== 'STOPPED') return node
    const from_ms = nowMs + scaledMs(context, WIPING_S)
    return withoutTyped(moved(node, nowMs, [{ state: 'DEFINED_ON_CORE', from_ms }]))
  })
  return { labs: wiped === lab ? [] : [wiped], launches: 0 }
}

const exchanged = ({ labs }: CmlServerContext, changed: CmlLab): readonly CmlLab[] =>
  labs.map(lab => (lab.id === changed.id ? changed : lab))

export const quotaOf = ({ server, nowMs, faults }: CmlServerContext): number =>
  faults.node_quota ?? quotaAt(server.licensing, nowMs)

/** Nodes that count against the license and are up, of all labs. */
export const licensedUp = ({ labs, nowMs }: CmlServerContext): number =>
  labs.flatMap(lab => lab.nodes).filter(node => needsLicense(node.node_definition) && isUp(nodeStateAt(node, nowMs)))
    .length

function checkQuota(context: CmlServerContext, starting: readonly LabNode[]): void {
  const wanted = starting.filter(
    node => needsLicense(node.node_definition) && !isUp(nodeStateAt(node, context.nowMs)),
  ).length
  const quota = quotaOf(context)
  const up = licensedUp(context)
  if (wanted === 0 || up + wanted <= quota) return
  throw new CmlRefusal(
    400,
    `Node licenses exceeded: ${wanted} more are needed, but only ${Math.max(0, quota - up)} of ${quota} are available.`,
  )
}
