import type { LabletDefinition } from '@lcm/domain/lablet/lablet-definition'
import { withPorts } from '@lcm/domain/lablet/ports'
import { Topology } from '@lcm/domain/lablet/topology'
import { parse } from 'yaml'

/** Entities that repeat themselves are refused long before this; it only bounds what one parse may cost. */
const ALIASES_MAX = 100

/** The topology as CML imports it, with the ports that were given out. JSON is YAML too, and leaves nothing to quoting. */
export function topologyToImport(definition: LabletDefinition, ports: Readonly<Record<string, number>>): string {
  const parsed: unknown = parse(definition.topology ?? '', { maxAliasCount: ALIASES_MAX })
  return JSON.stringify(withPorts(Topology.parse(parsed), definition.port_template, ports))
}
