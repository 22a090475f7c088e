import type { LabGraph } from '@lcm/contract/definition'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { Topology, TopologyNode } from '@lcm/domain/lab/topology'
import { boundedMap } from '../../../access/rate-limiter.ts'
import { readTopology } from './read-topology.ts'

const LABEL_CHARS_MAX = 200
/** Cached graphs: parsing a long topology for every request is expensive. */
const CACHE_MAX = 50

/** Nodes and links of a lab. A link without a label gets the names of its interfaces. */
export function graphOf({ nodes, links }: Topology): LabGraph {
  const ports = new Map(nodes.flatMap(node => interfacesOf(node).map(({ id, label }) => [`${node.id}\n${id}`, label])))
  const portOf = (node: string, port: string) => ports.get(`${node}\n${port}`) ?? ''
  return {
    nodes: nodes.map(({ id, label, node_definition }) => ({ id, label, node_definition })),
    links: links.map(({ n1, n2, i1, i2, label }) => {
      const between = [portOf(n1, i1), portOf(n2, i2)].filter(text => text !== '').join(' – ')
      const own = typeof label === 'string' ? label : between
      return { a: n1, b: n2, label: own.slice(0, LABEL_CHARS_MAX) }
    }),
  }
}

const interfacesOf = ({ interfaces }: TopologyNode): { id: string; label: string }[] =>
  (interfaces ?? []).map(({ id, label }) => ({ id, label: typeof label === 'string' ? label : '' }))

/** Null for a definition without a topology. */
export function labGraphs(pause: () => Promise<void>): (definition: LabletDefinition) => Promise<LabGraph | null> {
  const cache = boundedMap<LabGraph | null>(CACHE_MAX)
  return async ({ topology, topology_sha256 }) => {
    if (topology === null || topology_sha256 === null) return null
    const known = cache.get(topology_sha256)
    if (known !== undefined) return known
    const reading = await readTopology(topology, pause)
    // It was valid when it was stored. Rules that became stricter since must not hide the definition.
    const graph = reading.ok ? graphOf(reading.topology) : null
    cache.set(topology_sha256, graph)
    return graph
  }
}
