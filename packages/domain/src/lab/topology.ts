import { z } from 'zod'
import { NODE_NEEDS } from './node-needs.ts'

const Tag = z.string().min(1).max(64)

const Node = z.looseObject({
  id: z.string().min(1).max(64),
  label: z.string().min(1).max(128),
  node_definition: z.string().min(1).max(250),
  // Some releases export 0 for an unset value.
  cpus: z.number().int().min(0).max(128).nullish(),
  ram: z.number().int().min(0).max(1_048_576).nullish(),
  data_volume: z.number().int().min(0).max(4096).nullish(),
  boot_disk_size: z.number().int().min(0).max(4096).nullish(),
  cpu_limit: z.number().nullish(),
  tags: z.array(Tag).max(100).nullish(),
  interfaces: z.array(z.looseObject({ id: z.string() })).nullish(),
})
export type TopologyNode = z.infer<typeof Node>

const Link = z.looseObject({ id: z.string(), n1: z.string(), n2: z.string(), i1: z.string(), i2: z.string() })

/** The versions that CML releases up to 2.10 write. Older servers refuse the newest. */
export const TOPOLOGY_VERSIONS = [
  '0.0.1',
  '0.0.2',
  '0.0.3',
  '0.0.4',
  '0.0.5',
  '0.1.0',
  '0.2.0',
  '0.2.1',
  '0.2.2',
  '0.3.0',
  '0.3.1',
] as const
export const NODES_MAX = 300

/** The parts of a CML lab file that LCM uses. `judgeLabFile` validates the rest of a new file. */
export const Topology = z
  .looseObject({
    lab: z.looseObject({
      version: z.enum(TOPOLOGY_VERSIONS, `one of ${TOPOLOGY_VERSIONS.join(', ')}`),
      title: z.string().max(64).nullish(),
    }),
    nodes: z.array(Node).min(1, 'a lab needs at least one node').max(NODES_MAX),
    links: z.array(Link).max(2000),
    /** How CML draws the nodes of a tag. It creates one annotation per tag. */
    smart_annotations: z
      .array(z.looseObject({ tag: z.string().nullish() }))
      .max(2000)
      .optional(),
  })
  .superRefine((topology, context) => {
    const seen = new Map<string, number>()
    for (const [index, { id, label }] of topology.nodes.entries()) {
      for (const name of [`id ${id}`, `label ${label}`]) {
        const before = seen.get(name)
        if (before !== undefined)
          context.addIssue({ code: 'custom', path: ['nodes', index], message: `${name} is that of node ${before} too` })
        seen.set(name, index)
      }
    }
    const ids = new Set(topology.nodes.map(({ id }) => id))
    for (const [index, { n1, n2 }] of topology.links.entries()) {
      for (const node of [n1, n2])
        if (!ids.has(node))
          context.addIssue({ code: 'custom', path: ['links', index], message: `there is no node ${node}` })
    }
  })
export type Topology = z.infer<typeof Topology>

export const LabNeeds = z
  .object({
    cpu_cores: z.number().nonnegative().max(100_000).meta({ description: 'CPU cores.', example: 4 }),
    memory_gb: z.number().nonnegative().max(1_000_000).meta({ description: 'Memory in GB.', example: 16 }),
    storage_gb: z.number().nonnegative().max(1_000_000).meta({ description: 'Storage in GB.', example: 20 }),
    node_count: z.int().nonnegative().max(NODES_MAX).meta({ description: 'Lab nodes.', example: 5 }),
  })
  .meta({ id: 'LabNeeds', description: 'The capacity that a running lab needs.' })
export type LabNeeds = z.infer<typeof LabNeeds>

/** Files, logs and overlays of a lab, in addition to the disks of its nodes. */
const STORAGE_GB_PER_NODE = 1
const UNKNOWN_NEEDS = { cpus: 1, ram_mib: 2048, boot_s: 300, counts: true }

/** The sum of the needs of all nodes, or of their definitions' defaults. Switches and connectors run nothing. */
export function needsOf(topology: Topology): LabNeeds {
  let [cpus, ramMib, disk, nodes] = [0, 0, 0, 0]
  for (const node of topology.nodes) {
    const known = NODE_NEEDS.get(node.node_definition) ?? UNKNOWN_NEEDS
    if (!known.counts) continue
    nodes += 1
    cpus += node.cpus || known.cpus
    ramMib += node.ram || known.ram_mib
    disk += STORAGE_GB_PER_NODE + (node.data_volume ?? 0) + (node.boot_disk_size ?? 0)
  }
  return { cpu_cores: cpus, memory_gb: Math.ceil((ramMib / 1024) * 100) / 100, storage_gb: disk, node_count: nodes }
}

/** How long CML waits for the slowest node to boot: the time of its definition, longer with a CPU limit. */
export const bootSecondsOf = ({ nodes }: Topology): number =>
  Math.max(
    ...nodes.map(({ node_definition, cpu_limit }) => {
      const { boot_s } = NODE_NEEDS.get(node_definition) ?? UNKNOWN_NEEDS
      return Math.ceil((boot_s * 100) / Math.max(20, cpu_limit || 100))
    }),
  )

export const nodeDefinitionsOf = (topology: Topology): string[] =>
  [...new Set(topology.nodes.map(node => node.node_definition))].sort()
