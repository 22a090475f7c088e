import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { TaggedTopology, withPorts } from '@lcm/domain/lab/ports'
import { Topology } from '@lcm/domain/lab/topology'
import { parsedDocument, toPlain } from './yaml-document.ts'

/** The topology of a definition as CML imports it, with the allocated ports. JSON is valid YAML and needs no quoting rules. */
export async function topologyToImport(
  { topology, port_template }: Pick<LabletDefinition, 'topology' | 'port_template'>,
  ports: Readonly<Record<string, number>>,
  pause: () => Promise<void>,
): Promise<string> {
  const parsed = TaggedTopology.parse(await parsedYaml(topology ?? '', pause))
  return JSON.stringify(withPorts(parsed, port_template, ports))
}

/** The API has validated it. */
export const topologyOf = async ({ topology }: LabletDefinition, pause: () => Promise<void>): Promise<Topology> =>
  Topology.parse(await parsedYaml(topology ?? '', pause))

const parsedYaml = async (text: string, pause: () => Promise<void>): Promise<unknown> =>
  toPlain(await parsedDocument(text, 'core', pause))
