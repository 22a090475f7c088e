import { z } from 'zod'
import { namesText } from '../text/format-amounts.ts'
import { consolesOf } from './node-needs.ts'
import type { Topology } from './topology.ts'

/** The parts of a topology that open ports. */
export const TaggedTopology = z.looseObject({
  nodes: z.array(z.looseObject({ label: z.string(), tags: z.array(z.string()).nullish() })),
  smart_annotations: z.array(z.looseObject({ tag: z.string().nullish() })).optional(),
})
export type TaggedTopology = z.infer<typeof TaggedTopology>

/** The outside ports of a CML server that lead to its nodes. */
export const PORT_POOL = { from: 2000, to: 7999 } as const

export const PORT_PROTOCOLS = ['serial', 'vnc', 'tcp', 'udp'] as const

/** One way into a lab: which node, how, and for `tcp` and `udp` which port of the node. */
export const PortWish = z
  .object({
    name: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,100}$/, 'letters, digits, dashes and underscores')
      .meta({ description: 'The name of the port.', example: 'r1_serial' }),
    node: z.string().min(1).max(128).meta({ description: 'The label of the node.', example: 'r1' }),
    protocol: z.enum(PORT_PROTOCOLS).meta({ description: 'The protocol.', example: 'serial' }),
    inside: z
      .int()
      .min(0)
      .max(65_535)
      .nullable()
      .default(null)
      .meta({ description: 'The serial line, or the port on the node; null for vnc.', example: 0 }),
  })
  .refine(({ protocol, inside }) => inside || (protocol !== 'tcp' && protocol !== 'udp'), {
    path: ['inside'],
    message: 'tcp and udp need a port of the node',
  })
  .meta({ id: 'PortWish', description: 'A port to open to a node.' })
export type PortWish = z.infer<typeof PortWish>

/** `serial:5000`, `serial:5000:1`, `vnc:5001`, `pat:8080:80`, `pat:udp:8080:80`: CML opens these by itself. */
const TAG =
  /^(?:serial:(?<serial>\d+)(?::(?<line>\d+))?|vnc:(?<vnc>\d+)|pat:(?:(?<pat>tcp|udp):)?(?<out>\d+):(?<port>\d+))$/

/** The port that a tag opens; null for any other tag. */
function openedBy(tag: string): (Pick<PortWish, 'protocol' | 'inside'> & { outside: number }) | null {
  const groups = TAG.exec(tag)?.groups
  if (groups === undefined) return null
  const { serial, line = '0', vnc, pat, out, port } = groups
  if (serial !== undefined) return { protocol: 'serial', inside: Number(line), outside: Number(serial) }
  if (vnc !== undefined) return { protocol: 'vnc', inside: null, outside: Number(vnc) }
  return { protocol: pat === 'udp' ? 'udp' : 'tcp', inside: Number(port), outside: Number(out) }
}

function wishOf(node: string, tag: string): PortWish | null {
  const opened = openedBy(tag)
  if (opened === null) return null
  const { protocol, inside } = opened
  const suffix = inside === null || (protocol === 'serial' && inside === 0) ? '' : `_${inside}`
  const name = `${node}_${protocol}${suffix}`.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(-NAME_CHARS_MAX)
  return PortWish.safeParse({ name, node, protocol, inside }).data ?? null
}
/** Leaves space for a number after the name. */
const NAME_CHARS_MAX = 90

/**
 * The ports that a lab's own tags request; without any, the consoles of all its nodes. The numbers in tags are ignored, since
 * workers allocate others.
 */
export function portsOf({ nodes }: Topology): PortWish[] {
  const tagged = nodes.flatMap(({ label, tags }) => (tags ?? []).flatMap(tag => wishOf(label, tag) ?? []))
  const wishes =
    tagged.length > 0
      ? tagged
      : nodes.flatMap(({ label, node_definition }) =>
          consolesOf(node_definition).flatMap(console => wishOf(label, `${console}:0`) ?? []),
        )
  const distinct = new Map(wishes.map(wish => [`${wish.node}\n${wish.protocol}\n${wish.inside}`, wish]))
  const used = new Set<string>()
  return [...distinct.values()].map(wish => {
    let name = wish.name
    // Labels that give the same port name must not share a port.
    for (let n = 2; used.has(name); n += 1) name = `${wish.name}_${n}`
    used.add(name)
    return { ...wish, name }
  })
}

/** Reports requested ports of nodes that the lab does not have, by index: such ports would lead nowhere. */
export function strayWishes(wishes: readonly PortWish[], { nodes }: Topology): { index: number; message: string }[] {
  const labels = new Set(nodes.map(({ label }) => label))
  const known = namesText([...labels], LABELS_NAMED_MAX)
  return wishes.flatMap(({ node }, index) =>
    labels.has(node) ? [] : [{ index, message: `the lab has no node ${node}; it has ${known || 'none'}` }],
  )
}
const LABELS_NAMED_MAX = 10

/** Outside ports that tags use, such as those of foreign labs. */
export const portsInTags = (tags: readonly string[]): number[] => tags.flatMap(tag => openedBy(tag)?.outside ?? [])

/** Tags without those that open ports. */
export const withoutPorts = (tags: readonly string[]): string[] => tags.filter(tag => !TAG.test(tag))

type TaggedNode = TaggedTopology['nodes'][number]
const openingsOf = ({ tags }: TaggedNode): string =>
  [...new Set((tags ?? []).flatMap(tag => openingOf(openedBy(tag))))].sort().join()
const openingOf = (opened: Pick<PortWish, 'protocol' | 'inside'> | null): string[] =>
  opened === null ? [] : [`${opened.protocol}:${opened.inside}`]

/**
 * The requested ports at the labels that their nodes have in a saved lab. A node keeps its tags when it is renamed, so an unknown node
 * whose tags open the same ports as a missing one is that one.
 */
export function wishesAfterRenames(wishes: readonly PortWish[], nodes: readonly TaggedNode[]): PortWish[] {
  const labels = new Set(nodes.map(({ label }) => label))
  const wished = new Set(wishes.map(({ node }) => node))
  const unknown = nodes.filter(node => !wished.has(node.label) && openingsOf(node) !== '')
  const renamed = new Map<string, string>()
  for (const label of wished) {
    if (labels.has(label)) continue
    const own = wishes.filter(({ node }) => node === label)
    const openings = own.flatMap(openingOf).sort().join()
    const at = unknown.findIndex(node => openingsOf(node) === openings)
    const [node] = at < 0 ? [] : unknown.splice(at, 1)
    if (node !== undefined) renamed.set(label, node.label)
  }
  return wishes.map(wish => ({ ...wish, node: renamed.get(wish.node) ?? wish.node }))
}

/** The nodes of a saved lab that its definition does not have, under any label, so that no port leads to them. */
export function addedNodes(
  { labels, wishes }: { readonly labels: readonly string[]; readonly wishes: readonly PortWish[] },
  { nodes }: Pick<Topology, 'nodes'>,
): string[] {
  const known = new Set([...nodes.map(({ label }) => label), ...wishes.map(({ node }) => node)])
  return labels.filter(label => !known.has(label))
}

const tagOf = ({ protocol, inside }: PortWish, outside: number): string => {
  if (protocol === 'vnc') return `vnc:${outside}`
  if (protocol === 'serial')
    return inside === null || inside === 0 ? `serial:${outside}` : `serial:${outside}:${inside}`
  return `pat:${protocol}:${outside}:${inside ?? 0}`
}

/** The tags of one node with the allocated ports; other tags stay. */
export function tagsWithPorts(
  label: string,
  tags: readonly string[],
  wishes: readonly PortWish[],
  ports: Readonly<Record<string, number>>,
): string[] {
  const own = wishes.flatMap(wish => {
    const outside = ports[wish.name]
    return wish.node === label && outside !== undefined ? [tagOf(wish, outside)] : []
  })
  return [...withoutPorts(tags), ...own]
}

/** The lab as it is imported, with the allocated ports. CML creates the annotations of those tags again. */
export function withPorts<T extends TaggedTopology>(
  topology: T,
  wishes: readonly PortWish[],
  ports: Readonly<Record<string, number>>,
): T {
  const nodes = topology.nodes.map(node => ({
    ...node,
    tags: tagsWithPorts(node.label, node.tags ?? [], wishes, ports),
  }))
  const notes = topology.smart_annotations?.filter(({ tag }) => !TAG.test(tag ?? ''))
  return { ...topology, nodes, ...(notes === undefined ? {} : { smart_annotations: notes }) }
}

/**
 * Port numbers for all requests, lowest first, or null when there are not enough. A lab keeps its ports, so a repeated request
 * returns the same.
 */
export function allocatePorts(
  wishes: readonly PortWish[],
  held: Readonly<Record<string, number>>,
  taken: ReadonlySet<number>,
): Record<string, number> | null {
  const own = new Set(Object.values(held))
  const ports: Record<string, number> = {}
  let next: number = PORT_POOL.from
  for (const { name } of wishes) {
    const kept = held[name] ?? ports[name]
    if (kept !== undefined) {
      ports[name] = kept
      continue
    }
    while (taken.has(next) || own.has(next)) next += 1
    if (next > PORT_POOL.to) return null
    ports[name] = next
    next += 1
  }
  return ports
}
