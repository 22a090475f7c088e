import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { portsOf } from '@lcm/domain/lablet/ports'
import { needsOf, nodeDefinitionsOf, type Topology } from '@lcm/domain/lablet/topology'
import type { StoredDefinition } from '../../kinds.ts'
import { gistOf, readTopology } from '../../topology/read-topology.ts'

const NO_NEEDS = { cpu_cores: 0, memory_gb: 0, storage_gb: 0, node_count: 0 }

export type DefinitionBody = BodyOf<'putDefinition'>
type Spec = Omit<DefinitionBody, 'topology'>

/** What a definition says of itself, as far as that follows from what its author said. */
export type Content = Pick<
  StoredDefinition,
  keyof Spec | 'given' | 'topology' | 'topology_sha256' | 'node_definitions_required' | 'needs' | 'port_template'
>

/** A good topology gives a whole definition; where it is still to be fetched, one that waits for it. */
export function contentOf(body: DefinitionBody): Content {
  const { topology, ...spec } = body
  const given = { needs: spec.needs !== null, port_template: spec.port_template !== null }
  const waiting: Content = {
    ...spec,
    given,
    needs: spec.needs ?? NO_NEEDS,
    port_template: spec.port_template ?? [],
    topology: null,
    topology_sha256: null,
    node_definitions_required: [],
  }
  refuseCredentials(spec.source)
  if (spec.source !== 'inline') {
    if (topology === undefined) return waiting
    const message = 'say a topology, or where to fetch it from, not both'
    throw new ProblemError('validation_failed', `body.topology: ${message}`, [{ path: 'body.topology', message }])
  }
  return withTopology(waiting, topology ?? '')
}

/** Everybody may read where a topology comes from. */
function refuseCredentials(source: string): void {
  if (!/^https:\/\/[^/?#]*@/.test(source)) return
  const message = 'a name and password do not belong into an address'
  throw new ProblemError('validation_failed', `body.source: ${message}`, [{ path: 'body.source', message }])
}

/** Refuses what is no lab, with the lines. */
export function withTopology<T extends Content>(content: T, text: string): T {
  const reading = readTopology(text)
  if (!reading.ok) throw new ProblemError('topology_invalid', gistOf(reading.errors), [...reading.errors])
  return filled(content, text, { topology: reading.topology, sha256: reading.sha256 })
}

function filled<T extends Content>(
  content: T,
  text: string,
  { topology, sha256 }: { topology: Topology; sha256: string },
): T {
  const { needs, port_template } = content.given
  return {
    ...content,
    topology: text,
    topology_sha256: sha256,
    node_definitions_required: nodeDefinitionsOf(topology),
    needs: needs ? content.needs : needsOf(topology),
    port_template: port_template ? content.port_template : portsOf(topology),
  }
}

/** Whether two say the same, however they came about. */
export const isSameContent = (one: Content, other: Content): boolean => gistOfContent(one) === gistOfContent(other)

const gistOfContent = (content: Content): string =>
  JSON.stringify([
    content.title,
    content.description,
    content.source,
    content.needs,
    content.cml_version,
    content.license_affinity,
    content.port_template,
    content.max_duration_minutes,
    content.boot_lead_minutes,
    content.lab_reuse,
    content.topology_sha256,
    content.given,
  ])
