import { stringify } from 'yaml'
import { instantText } from '../http-messages.ts'
import { type CmlServerContext, computeId } from '../server-context.ts'
import type { CmlLab, LabInterface, LabLink, LabNode } from './lab.ts'
import {
  bootProgress,
  interfaceStateAt,
  isConnected,
  isUp,
  labStateAt,
  linkStateAt,
  nodeStateAt,
} from './lab-element-states.ts'
import { sizesOf } from './launch-queue.ts'
import { hasImage, imageOf, nodeDefinition } from './node-definitions.ts'

const TOPOLOGY_VERSION = '0.3.0'
const PERMISSIONS = ['lab_admin', 'lab_edit', 'lab_exec', 'lab_view'] as const

/** null: only the main file, as text; false: all files; true: none. */
export type ExcludeConfigurations = boolean | null

export function labView(context: CmlServerContext, lab: CmlLab) {
  const owner = context.server.users.find(user => user.id === lab.owner)
  return {
    id: lab.id,
    created: instantText(lab.created_ms),
    modified: instantText(lab.modified_ms),
    lab_title: lab.title,
    lab_description: lab.description,
    lab_notes: lab.notes,
    owner: lab.owner,
    owner_username: owner?.username ?? '',
    owner_fullname: owner?.fullname ?? '',
    state: labStateAt(lab, context.nowMs),
    node_count: lab.nodes.length,
    link_count: lab.links.length,
    groups: [],
    effective_permissions: PERMISSIONS,
  }
}

/** With what a tile on the overview page draws. */
export const tileView = (context: CmlServerContext, lab: CmlLab) => ({
  ...labView(context, lab),
  topology: {
    nodes: lab.nodes.map(node => nodeView(context, lab, { node, exclude: true })),
    links: lab.links.map(link => linkView(context, lab, link)),
    annotations: lab.annotations,
    smart_annotations: lab.smart_annotations,
  },
})

export function nodeView(
  context: CmlServerContext,
  lab: CmlLab,
  { node, exclude = null }: { node: LabNode; exclude?: ExcludeConfigurations },
) {
  const state = nodeStateAt(node, context.nowMs)
  const up = isUp(state) && state !== 'QUEUED'
  return {
    ...nodeMembers(node, exclude),
    lab_id: lab.id,
    boot_progress: bootProgress(state),
    state,
    compute_id: up ? computeId(context) : null,
    pinned_compute_id: null,
    resource_pool: null,
    iol_app_id: null,
    vnc_key: up && nodeDefinition(node.node_definition)?.vnc ? context.uuid('vnc', node.id) : null,
    serial_consoles: up ? serialConsoles(context, node) : [],
    operational: operational(context, node, up),
  }
}

function operational(context: CmlServerContext, node: LabNode, up: boolean) {
  const definition = nodeDefinition(node.node_definition)
  const { ram_mib, cpus, cpu_limit } = sizesOf(node)
  const image = definition && hasImage(definition) ? imageOf(definition) : null
  return {
    boot_disk_size: node.boot_disk_size,
    cpu_limit: up ? cpu_limit : null,
    cpus: up ? cpus : null,
    data_volume: node.data_volume,
    ram: up && ram_mib > 0 ? ram_mib : null,
    compute_id: up ? computeId(context) : null,
    image_definition: up ? (node.image_definition ?? image) : null,
    vnc_key: up && definition?.vnc ? context.uuid('vnc', node.id) : null,
    resource_pool: null,
    iol_app_id: null,
    serial_consoles: up ? serialConsoles(context, node) : [],
  }
}

const serialConsoles = (context: CmlServerContext, node: LabNode) =>
  nodeDefinition(node.node_definition)?.driver === 'none'
    ? []
    : [{ console_key: context.uuid('console', node.id), label: 'Serial0/0', device_number: 0 }]

const nodeMembers = (node: LabNode, exclude: ExcludeConfigurations) => ({
  id: node.id,
  label: node.label,
  node_definition: node.node_definition,
  image_definition: node.image_definition,
  x: node.x,
  y: node.y,
  ram: node.ram,
  cpus: node.cpus,
  cpu_limit: node.cpu_limit,
  data_volume: node.data_volume,
  boot_disk_size: node.boot_disk_size,
  hide_links: node.hide_links,
  tags: node.tags,
  parameters: node.parameters,
  ...(exclude === true ? {} : { configuration: exclude === null ? mainFile(node) : node.files }),
})

const mainFile = (node: LabNode): string | null => node.files[0]?.content ?? null

export const interfaceView = (
  context: CmlServerContext,
  lab: CmlLab,
  { node, port }: { node: LabNode; port: LabInterface },
) => ({
  id: port.id,
  lab_id: lab.id,
  node: node.id,
  label: port.label,
  slot: port.slot,
  type: port.type,
  mac_address: port.mac_address,
  is_connected: isConnected(lab, port),
  state: interfaceStateAt(node, context.nowMs),
})

export const linkView = (context: CmlServerContext, lab: CmlLab, link: LabLink) => ({
  id: link.id,
  lab_id: lab.id,
  label: link.label,
  state: linkStateAt(lab, link, context.nowMs),
  interface_a: link.interface_a,
  interface_b: link.interface_b,
  node_a: link.node_a,
  node_b: link.node_b,
  link_capture_key: '',
})

/** As the API tells it: server ids, and interfaces on every node. */
export const topologyView = (lab: CmlLab, exclude: ExcludeConfigurations) => ({
  lab: {
    version: TOPOLOGY_VERSION,
    title: lab.title,
    description: lab.description,
    notes: lab.notes,
    owner: lab.owner,
  },
  nodes: lab.nodes.map(node => ({
    ...nodeMembers(node, exclude),
    interfaces: node.interfaces.map(({ id, label, slot, type, mac_address }) => ({
      id,
      label,
      ...(slot === null ? {} : { slot }),
      type,
      mac_address,
    })),
  })),
  links: lab.links.map(({ id, label, node_a, node_b, interface_a, interface_b, conditioning }) => {
    return { id, lab_id: lab.id, label, node_a, node_b, interface_a, interface_b, conditioning }
  }),
  annotations: lab.annotations,
  smart_annotations: lab.smart_annotations,
})

/** As a file: short ids of its own, so that it can be imported anywhere. */
export function topologyFile(lab: CmlLab): string {
  const nodeNames = new Map(lab.nodes.map((node, index) => [node.id, `n${index}`]))
  const portNames = new Map(lab.nodes.flatMap(node => node.interfaces.map((port, index) => [port.id, `i${index}`])))
  const { title, description, notes } = lab
  return stringify({
    lab: { version: TOPOLOGY_VERSION, title, description, notes },
    nodes: lab.nodes.map(node => ({
      ...nodeMembers(node, false),
      id: nodeNames.get(node.id),
      interfaces: node.interfaces.map(({ id, label, slot, type, mac_address }) => {
        return { id: portNames.get(id), label, ...(slot === null ? {} : { slot }), type, mac_address }
      }),
    })),
    links: lab.links.map((link, index) => ({
      id: `l${index}`,
      n1: nodeNames.get(link.node_a),
      i1: portNames.get(link.interface_a),
      n2: nodeNames.get(link.node_b),
      i2: portNames.get(link.interface_b),
      label: link.label,
      conditioning: link.conditioning,
    })),
    annotations: lab.annotations.map(withoutId),
    smart_annotations: lab.smart_annotations.map(withoutId),
  })
}

function withoutId(item: unknown): unknown {
  if (typeof item !== 'object' || item === null) return item
  return Object.fromEntries(Object.entries(item).filter(([name]) => name !== 'id'))
}
