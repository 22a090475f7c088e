import { z } from 'zod'
import { NODES_MAX, TOPOLOGY_VERSIONS, Topology } from './topology.ts'

const Id = z.string().min(1).max(64)
const Place = z.int().min(-15_000).max(15_000)
const ConfigurationFile = z.strictObject({ name: z.string().min(1).max(64), content: z.string().nullish() })

const Interface = z.strictObject({
  id: Id,
  type: z.enum(['physical', 'loopback']),
  node: Id.nullish(),
  label: z.string().max(128).nullish(),
  slot: z.int().min(0).max(128).nullish(),
  mac_address: z.string().max(64).nullish(),
})

/** Older releases export 0 for an unset value. */
const sizeUpTo = (max: number) => z.int().min(0).max(max).nullish()

const Node = z.strictObject({
  id: Id,
  label: z.string().min(1).max(128),
  node_definition: z.string().min(1).max(250),
  x: Place,
  y: Place,
  image_definition: z.string().max(250).nullish(),
  cpus: sizeUpTo(128),
  cpu_limit: sizeUpTo(100).refine(limit => !limit || limit >= 20, 'from 20 to 100'),
  ram: sizeUpTo(1_048_576),
  data_volume: sizeUpTo(4096),
  boot_disk_size: sizeUpTo(4096),
  hide_links: z.boolean().nullish(),
  tags: z.array(Id).max(100).nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  configuration: z.union([z.string(), z.array(ConfigurationFile), ConfigurationFile], 'text, or files').nullish(),
  interfaces: z.array(Interface).nullish(),
  // Since 2.10.
  priority: z.int().min(0).max(10_000).nullish(),
  pyats: z.record(z.string(), z.unknown()).nullish(),
})

const Link = z.strictObject({
  id: Id,
  n1: Id,
  n2: Id,
  i1: Id,
  i2: Id,
  label: z.string().max(128).nullish(),
  conditioning: z.record(z.string(), z.unknown()).nullish(),
})

const Lab = z.strictObject({
  version: z.enum(TOPOLOGY_VERSIONS, `one of ${TOPOLOGY_VERSIONS.join(', ')}`),
  title: z.string().max(64).nullish(),
  description: z.string().max(4096).nullish(),
  notes: z.string().max(32_768).nullish(),
  // Since 2.10.
  node_staging: z.unknown().optional(),
})

const Picture = z.record(z.string(), z.unknown())

const Closed = z
  .strictObject({
    lab: Lab,
    nodes: z.array(Node).min(1, 'a lab needs at least one node').max(NODES_MAX),
    links: z.array(Link).max(2000),
    annotations: z.array(Picture).max(2000).optional(),
    smart_annotations: z
      .array(Picture.and(z.looseObject({ tag: z.string().nullish() })))
      .max(2000)
      .optional(),
  })
  .superRefine(({ nodes, links }, context) => {
    const complain = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message })
    const ports = new Map(nodes.map(node => [node.id, new Set((node.interfaces ?? []).map(({ id }) => id))]))
    for (const [index, { interfaces }] of nodes.entries()) {
      const twice = (interfaces ?? []).findIndex(({ id }, at, all) => all.findIndex(each => each.id === id) < at)
      if (twice >= 0) complain(['nodes', index, 'interfaces', twice], 'its id is that of another interface too')
    }
    for (const [index, { n1, i1, n2, i2 }] of links.entries())
      for (const [key, node, port] of [['i1', n1, i1] as const, ['i2', n2, i2] as const])
        if (ports.has(node) && !ports.get(node)?.has(port))
          complain(['links', index, key], `node ${node} has no interface ${port}`)
  })

/** Servers convert these versions before they validate them, by unknown rules. */
const isOfOldTimes = (version: unknown): boolean => typeof version === 'string' && version.startsWith('0.0.')

const versionIn = (value: unknown): unknown => Object(Object(value).lab).version

export type LabFileIssue = z.core.$ZodIssue
export type LabFileVerdict =
  | { readonly isGood: true; readonly topology: Topology }
  | { readonly isGood: false; readonly issues: readonly LabFileIssue[] }

/**
 * Validates a lab as CML does at its import, so that its author sees the errors early. Files whose rules are not known
 * are accepted.
 */
export function judgeLabFile(value: unknown): LabFileVerdict {
  const closed = isOfOldTimes(versionIn(value)) ? [] : (Closed.safeParse(value).error?.issues ?? [])
  const read = Topology.safeParse(value)
  if (read.success && closed.length === 0) return { isGood: true, topology: read.data }
  const reported = new Set(closed.map(({ path }) => path.join('.')))
  return {
    isGood: false,
    issues: [...closed, ...(read.error?.issues ?? []).filter(({ path }) => !reported.has(path.join('.')))],
  }
}

/** The oldest release that accepts the lab; null if every release does. Releases refuse fields that are newer than they are. */
export const oldestCmlFor = ({ lab, nodes }: Topology): string | null =>
  lab.version === '0.3.1' || 'node_staging' in lab || nodes.some(node => 'priority' in node || 'pyats' in node)
    ? '2.10'
    : null
