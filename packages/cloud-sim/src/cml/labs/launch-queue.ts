import { replan } from '../../state-timeline.ts'
import { HOST_RESERVE_MIB } from '../host-hardware.ts'
import { type CmlServerContext, scaledMs } from '../server-context.ts'
import type { CmlLab, LabNode, NodeMoment } from './lab.ts'
import { nodeStateAt } from './lab-element-states.ts'
import { type HostCapacity, type Launch, type LaunchNeed, planLaunches, type Taken } from './launch-plan.ts'
import { nodeDefinition } from './node-definitions.ts'

const POINTS_PER_CPU = 100
/** Boot timeouts are generous: nodes boot within these fractions of them. */
const BOOT_SHARE = [0.3, 0.8] as const
/** Seconds from the queue to the start, when there is capacity. */
const LEAVES_QUEUE_S = [1, 3] as const

interface Sizes {
  readonly ram_mib: number
  readonly cpus: number
  readonly cpu_limit: number
}

/** Of the node itself, else of its definition. */
export function sizesOf(node: LabNode): Sizes {
  const definition = nodeDefinition(node.node_definition)
  return {
    ram_mib: node.ram ?? definition?.ram_mib ?? 0,
    cpus: node.cpus ?? definition?.cpus ?? 0,
    cpu_limit: node.cpu_limit ?? POINTS_PER_CPU,
  }
}

export const capacityOf = ({ host, faults }: CmlServerContext): HostCapacity => ({
  ram_mib: Math.max(0, host.ram_mib - HOST_RESERVE_MIB - faults.ram_taken_mib),
  points: host.cpus * POINTS_PER_CPU,
})

/**
 * Plans again when queued nodes will start and boot; call it after every change. Returns only labs that differ from
 * those of the context.
 */
export function relaunched(context: CmlServerContext, labs: readonly CmlLab[]): readonly CmlLab[] {
  const nodes = labs.flatMap(lab => lab.nodes)
  const inQueue = nodes.filter(node => nodeStateAt(node, context.nowMs) === 'QUEUED' && !isLeaving(node))
  const queue = inQueue.toSorted((a, b) => a.launch_number - b.launch_number).map(node => needOf(context, node))
  const taken = nodes.flatMap(node => takenBy(node, context.nowMs) ?? [])
  const plan = planLaunches(queue, taken, capacityOf(context), context.nowMs)
  const waiting = new Set(inQueue)
  return labs
    .map(lab => withNodes(lab, node => (waiting.has(node) ? planned(context, node, plan.get(node.id)) : node)))
    .filter(lab => !context.labs.includes(lab))
}

/** Returns the same object if no node has changed. */
export function withNodes(lab: CmlLab, change: (node: LabNode) => LabNode): CmlLab {
  const nodes = lab.nodes.map(change)
  return nodes.some((node, index) => node !== lab.nodes[index]) ? { ...lab, nodes } : lab
}

const isLeaving = (node: LabNode): boolean => node.timeline.at(-1)?.state === 'STOPPED'

function planned({ nowMs, faults }: CmlServerContext, node: LabNode, launch: Launch | undefined): LabNode {
  const future = launch ? launchMoments(launch, neverBoots(node, faults.never_boot)) : []
  const timeline = replan(node.timeline, nowMs, future)
  return isSame(timeline, node.timeline) ? node : { ...node, timeline }
}

/** A node that never boots counts as converged after its timeout; nothing else changes. */
const launchMoments = ({ started_ms, booted_ms }: Launch, never: boolean): readonly NodeMoment[] => [
  { state: 'STARTED', from_ms: started_ms },
  { state: never ? 'STARTED' : 'BOOTED', from_ms: booted_ms },
]

const isSame = (a: readonly NodeMoment[], b: readonly NodeMoment[]): boolean =>
  a.length === b.length && a.every((moment, n) => moment.state === b[n]?.state && moment.from_ms === b[n]?.from_ms)

const neverBoots = (node: LabNode, names: readonly string[]): boolean =>
  names.includes(node.label) || names.includes(node.node_definition)

function needOf(context: CmlServerContext, node: LabNode): LaunchNeed {
  const { ram_mib, cpus, cpu_limit } = sizesOf(node)
  const queued = node.timeline.findLast(moment => moment.state === 'QUEUED')
  const waitS = between(LEAVES_QUEUE_S, context.fraction('queue', node.id, node.launch_number))
  return {
    key: node.id,
    ram_mib,
    points: cpus * cpu_limit,
    not_before_ms: (queued?.from_ms ?? context.nowMs) + scaledMs(context, waitS),
    boot_ms: bootMs(context, node),
  }
}

/** A lower CPU limit makes booting slower. */
function bootMs(context: CmlServerContext, node: LabNode): number {
  const { faults } = context
  const timeoutS = nodeDefinition(node.node_definition)?.boot_timeout_s ?? 60
  const slower = POINTS_PER_CPU / sizesOf(node).cpu_limit
  const drawn = between(BOOT_SHARE, context.fraction('boot', node.id, node.launch_number))
  const share = neverBoots(node, faults.never_boot) ? 1 : drawn * faults.boot_time_factor
  return scaledMs(context, timeoutS * slower * share)
}

const between = ([from, to]: readonly [number, number], fraction: number): number => from + (to - from) * fraction

/** Resources of a node that has left the queue: memory until it stops, points until it has booted. */
function takenBy(node: LabNode, nowMs: number): Taken | null {
  const state = nodeStateAt(node, nowMs)
  if (state !== 'STARTED' && state !== 'BOOTED') return null
  const last = node.timeline.at(-1)
  const { ram_mib, cpus, cpu_limit } = sizesOf(node)
  const stopsMs = last?.state === 'STOPPED' ? last.from_ms : Number.POSITIVE_INFINITY
  return {
    ram_mib,
    ram_until_ms: stopsMs,
    points: cpus * cpu_limit,
    points_until_ms: state === 'BOOTED' ? nowMs : Math.min(last?.from_ms ?? nowMs, stopsMs),
  }
}
