import type { CmlLab, LabNode } from './labs/lab.ts'
import { labsChangeAtMs, nodeStateAt } from './labs/lab-element-states.ts'

/** A TCP port of the machine that leads to one of its nodes. */
export interface NodePort {
  readonly port: number
  /** First text sent to a client. */
  readonly greeting: string
}

/** Ports that CML reserves for its port mapper. */
const PORT_MIN = 2000
const PORT_MAX = 7999

const TAG = /^(?:pat:(?:tcp:)?(?<pat>\d{1,5}):\d{1,5}|serial:(?<serial>\d{1,5})(?::\d+)?|vnc:(?<vnc>\d{1,5}))$/

/** External TCP ports that a node's tags request. */
export function portsOfTags(tags: readonly string[]): readonly { readonly kind: string; readonly port: number }[] {
  return tags.flatMap(tag => {
    const groups = TAG.exec(tag)?.groups ?? {}
    const [kind, text] = Object.entries(groups).find(([, value]) => value !== undefined) ?? []
    const port = Number(text)
    return kind !== undefined && port >= PORT_MIN && port <= PORT_MAX ? [{ kind, port }] : []
  })
}

/** Open ports now. If two nodes claim one port, the first to start gets it, silently. */
export function openPorts(labs: readonly CmlLab[], nowMs: number): readonly NodePort[] {
  const running = labs.flatMap(lab => {
    return lab.nodes.filter(node => isRunning(node, nowMs)).map(node => ({ lab, node }))
  })
  const taken = new Map<number, NodePort>()
  for (const { lab, node } of running.toSorted((a, b) => a.node.launch_number - b.node.launch_number)) {
    for (const { kind, port } of portsOfTags(node.tags)) {
      if (!taken.has(port)) taken.set(port, { port, greeting: greetingOf(lab, node, kind) })
    }
  }
  return [...taken.values()].sort((a, b) => a.port - b.port)
}

function isRunning(node: LabNode, nowMs: number): boolean {
  const state = nodeStateAt(node, nowMs)
  return state === 'STARTED' || state === 'BOOTED'
}

const greetingOf = (lab: CmlLab, node: LabNode, kind: string): string =>
  `${kind} of node '${node.label}' in lab '${lab.title}' (simulated)\r\n`

/** When the open ports may next change by themselves, or null. */
export function portsChangeAtMs(labs: readonly CmlLab[], afterMs: number): number | null {
  const tagged = labs.filter(lab => lab.nodes.some(node => portsOfTags(node.tags).length > 0))
  return labsChangeAtMs(tagged, afterMs)
}
