import { CmlRefusal } from '../http-messages.ts'
import type { CmlServerContext } from '../server-context.ts'
import type { CmlUser } from '../server-state.ts'
import type { CmlLab, ConfigurationFile, LabInterface, LabLink, LabNode } from './lab.ts'
import { MAIN_FILE } from './node-configuration.ts'
import { hasImage, imageOf, nodeDefinition } from './node-definitions.ts'
import type { Configuration, NodeMembers, Topology, TopologyInterface, TopologyNode } from './topology.ts'

export interface ImportedTopology {
  readonly lab: CmlLab
  readonly warnings: readonly string[]
}

export function emptyLab(context: CmlServerContext, owner: CmlUser, title: string | null): CmlLab {
  return {
    id: context.uuid('lab', context.server.labs_made),
    title: title ?? defaultTitle(context.nowMs),
    description: '',
    notes: '',
    owner: owner.id,
    created_ms: context.nowMs,
    modified_ms: context.nowMs,
    nodes: [],
    links: [],
    annotations: [],
    smart_annotations: [],
    elements_made: 0,
  }
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const

function defaultTitle(nowMs: number): string {
  const now = new Date(nowMs)
  return `Lab at ${DAYS[now.getUTCDay()]} ${now.toISOString().slice(11, 16)} ${now.getUTCHours() < 12 ? 'AM' : 'PM'}`
}

/** Ids in the file are local to it: everything gets new ids of this server. */
export function labFrom(
  context: CmlServerContext,
  owner: CmlUser,
  from: { topology: Topology; title: string | null },
): ImportedTopology {
  const { topology } = from
  const empty = emptyLab(context, owner, from.title ?? (topology.lab.title || null))
  const names = namesOf(context, empty.id)
  const warnings = topology.nodes.flatMap(imageWarning)
  const links = topology.links.map(
    (link, index): LabLink => ({
      id: context.uuid('link', empty.id, index),
      label: link.label ?? '',
      node_a: names.node(link.n1),
      interface_a: names.port(link.n1, link.i1),
      node_b: names.node(link.n2),
      interface_b: names.port(link.n2, link.i2),
      conditioning: link.conditioning ?? {},
    }),
  )
  const nodes = topology.nodes.map(node => nodeFrom(node, names, context.nowMs))
  const noted = warnings.length > 0 ? `\n\n${warnings.join('\n')}` : ''
  const lab: CmlLab = {
    ...empty,
    description: topology.lab.description ?? '',
    notes: `${topology.lab.notes ?? ''}${noted}`,
    nodes,
    links,
    annotations: withIds(context, ['annotation', empty.id], topology.annotations ?? []),
    smart_annotations: smartAnnotations(context, empty.id, { topology, nodes }),
    elements_made: nodes.length + links.length,
  }
  return { lab, warnings }
}

interface Names {
  node(fileId: string): string
  port(fileNodeId: string, fileId: string): string
}

const namesOf = (context: CmlServerContext, labId: string): Names => ({
  node: fileId => context.uuid('node', labId, fileId),
  port: (fileNodeId, fileId) => context.uuid('interface', labId, fileNodeId, fileId),
})

function nodeFrom(node: TopologyNode, names: Names, nowMs: number): LabNode {
  const { node_definition } = node
  if (!nodeDefinition(node_definition)) throw unknownDefinition(node_definition)
  return {
    id: names.node(node.id),
    label: node.label,
    node_definition,
    x: node.x,
    y: node.y,
    ...membersOf(node),
    image_definition: imageWarning(node).length > 0 ? null : (node.image_definition ?? null),
    interfaces: (node.interfaces ?? []).map((port, index) =>
      interfaceFrom(port, { id: names.port(node.id, port.id), index, node_definition }),
    ),
    launch_number: 0,
    timeline: [{ state: 'DEFINED_ON_CORE', from_ms: nowMs }],
  }
}

export const unknownDefinition = (id: string) => new CmlRefusal(400, `Node definition not found: ${id}`)

type Sized = Omit<
  LabNode,
  'id' | 'label' | 'node_definition' | 'x' | 'y' | 'interfaces' | 'launch_number' | 'timeline' | 'typed'
>

/** Fields that the request leaves out follow the definition. */
export function membersOf(given: Partial<NodeMembers>): Sized {
  return {
    image_definition: given.image_definition ?? null,
    files: filesOf(given.configuration ?? null),
    ram: given.ram ?? null,
    cpus: given.cpus ?? null,
    cpu_limit: given.cpu_limit ?? null,
    data_volume: given.data_volume ?? null,
    boot_disk_size: given.boot_disk_size ?? null,
    hide_links: given.hide_links ?? false,
    tags: given.tags ?? [],
    parameters: given.parameters ?? {},
  }
}

export function filesOf(given: Configuration): readonly ConfigurationFile[] {
  if (given === null) return []
  if (typeof given === 'string') return [{ name: MAIN_FILE, content: given }]
  const files = 'name' in given ? [given] : given
  return files.map(({ name, content }) => ({ name, content: content ?? '' }))
}

interface PortPlace {
  readonly id: string
  readonly index: number
  readonly node_definition: string
}

function interfaceFrom(port: TopologyInterface, { id, index, node_definition }: PortPlace): LabInterface {
  const slot = port.slot ?? (port.type === 'physical' ? index : null)
  return {
    id,
    label: port.label ?? portLabel(node_definition, port.type === 'loopback' ? null : (slot ?? index)),
    type: port.type,
    slot,
    mac_address: port.mac_address ?? null,
  }
}

export const portLabel = (definitionId: string, slot: number | null): string =>
  slot === null ? 'Loopback0' : `${nodeDefinition(definitionId)?.port ?? 'port'}${slot}`

/** A missing image is replaced by the definition's own. */
function imageWarning({ label, node_definition, image_definition }: TopologyNode): readonly string[] {
  const definition = nodeDefinition(node_definition)
  if (!image_definition || !definition) return []
  if (hasImage(definition) && imageOf(definition) === image_definition) return []
  return [`- Node **${label}**: image definition \`${image_definition}\` not found, using the default image.`]
}

const withIds = (context: CmlServerContext, purpose: readonly string[], items: readonly object[]): readonly object[] =>
  items.map((item, index) => ({ ...item, id: context.uuid(...purpose, index) }))

/** Each distinct tag gets an annotation, also if the file has none. */
function smartAnnotations(
  context: CmlServerContext,
  labId: string,
  from: { topology: Topology; nodes: readonly LabNode[] },
): readonly unknown[] {
  const given = from.topology.smart_annotations ?? []
  const drawn = new Set(given.map(({ tag }) => tag))
  const tags = [...new Set(from.nodes.flatMap(node => node.tags))].filter(tag => !drawn.has(tag))
  const made = tags.map(tag => ({ ...PLAIN_ANNOTATION, tag, label: tag }))
  return withIds(context, ['smart', labId], [...given, ...made])
}

const PLAIN_ANNOTATION = {
  is_on: true,
  padding: 35,
  tag_offset_x: 0,
  tag_offset_y: 0,
  tag_size: 14,
  group_distance: 400,
  thickness: 1,
  border_style: '',
  fill_color: '#FFFFFF80',
  border_color: '#00000080',
  z_index: 0,
}
