import { entryAt, nextChangeMs, replan } from '../../state-timeline.ts'
import type { CmlLab, ElementState, LabInterface, LabLink, LabNode, NodeMoment, NodeState } from './lab.ts'

/** The node uses a license, and memory once it has left the queue. */
export const isUp = (state: NodeState): boolean => state === 'QUEUED' || state === 'STARTED' || state === 'BOOTED'

export const nodeStateAt = (node: LabNode, atMs: number): NodeState => entryAt(node.timeline, atMs).state

/** A stop in progress. */
export const isStopping = (node: LabNode, atMs: number): boolean =>
  isUp(nodeStateAt(node, atMs)) && node.timeline.at(-1)?.state === 'STOPPED'

/** No change is planned. A node that waits for capacity in the queue hasn't converged. */
export const isNodeConverged = (node: LabNode, atMs: number): boolean =>
  nodeStateAt(node, atMs) !== 'QUEUED' && nextChangeMs(node.timeline, atMs) === null

export const isLabConverged = (lab: CmlLab, atMs: number): boolean =>
  lab.nodes.every(node => isNodeConverged(node, atMs))

export function bootProgress(state: NodeState): 'Not running' | 'Booting' | 'Booted' {
  if (state === 'BOOTED') return 'Booted'
  return state === 'STARTED' ? 'Booting' : 'Not running'
}

export function labStateAt(lab: CmlLab, atMs: number): ElementState {
  const states = lab.nodes.map(node => nodeStateAt(node, atMs))
  if (states.some(isUp)) return 'STARTED'
  return states.includes('STOPPED') ? 'STOPPED' : 'DEFINED_ON_CORE'
}

/** Links and interfaces have no booting state. */
export function interfaceStateAt(node: LabNode, atMs: number): ElementState {
  const state = nodeStateAt(node, atMs)
  if (state === 'STARTED' || state === 'BOOTED') return 'STARTED'
  return state === 'STOPPED' ? 'STOPPED' : 'DEFINED_ON_CORE'
}

export function linkStateAt(lab: CmlLab, link: LabLink, atMs: number): ElementState {
  const states = lab.nodes
    .filter(node => node.id === link.node_a || node.id === link.node_b)
    .map(node => interfaceStateAt(node, atMs))
  if (states.every(state => state === 'STARTED')) return 'STARTED'
  return states.includes('STOPPED') ? 'STOPPED' : 'DEFINED_ON_CORE'
}

export const isConnected = (lab: CmlLab, { id }: LabInterface): boolean =>
  lab.links.some(link => link.interface_a === id || link.interface_b === id)

/** Replaces the timeline of a node from `nowMs` on. */
export const moved = (node: LabNode, nowMs: number, future: readonly NodeMoment[]): LabNode => ({
  ...node,
  timeline: replan(node.timeline, nowMs, future),
})

/** Stops all nodes that were up when the host went down. Idempotent. */
export function afterOutage(lab: CmlLab, downMs: number): CmlLab {
  if (!lab.nodes.some(node => wasUp(node, downMs))) return lab
  const nodes = lab.nodes.map(node =>
    wasUp(node, downMs) ? moved(node, downMs, [{ state: 'STOPPED', from_ms: downMs, isLost: true }]) : node,
  )
  return { ...lab, nodes }
}

/** Entries after the outage belong to a later start. */
const wasUp = (node: LabNode, downMs: number): boolean => {
  const moment = entryAt(node.timeline, downMs)
  return moment.from_ms <= downMs && isUp(moment.state)
}

/** When any node of these labs next changes by itself, or null. */
export function labsChangeAtMs(labs: readonly CmlLab[], afterMs: number): number | null {
  const changes = labs.flatMap(lab => lab.nodes.map(node => nextChangeMs(node.timeline, afterMs)))
  return changes.reduce((soonest, at) => (at !== null && (soonest === null || at < soonest) ? at : soonest), null)
}
