import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { oldestCmlFor } from '@lcm/domain/lab/lab-file'
import { portsOf, strayWishes } from '@lcm/domain/lab/ports'
import { needsOf, nodeDefinitionsOf } from '@lcm/domain/lab/topology'
import type { Api } from '../../api-context.ts'
import type { StoredDefinition } from '../../internal-documents.ts'
import { readTopology, summarizeErrors, type TopologyRead } from './topology/read-topology.ts'

const NO_NEEDS = { cpu_cores: 0, memory_gb: 0, storage_gb: 0, node_count: 0 }

export type DefinitionBody = Omit<BodyOf<'createDefinition'>, 'name'>
type Spec = Omit<DefinitionBody, 'topology'>

/** Fields of a definition that are set by its author or derived from the topology. */
export type Content = Pick<
  StoredDefinition,
  keyof Spec | 'given' | 'topology' | 'topology_sha256' | 'node_definitions_required' | 'needs' | 'port_template'
>

/** Complete with a valid topology; pending while the topology is still to be fetched. */
export async function contentOf(api: Api, body: DefinitionBody): Promise<Content> {
  const { topology, ...spec } = body
  const given = {
    title: spec.title !== '',
    needs: spec.needs !== null,
    port_template: spec.port_template !== null,
    cml_min: spec.cml_version.min !== null,
  }
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
    const message = 'give a topology or a location to fetch it from, not both'
    throw new ProblemError('validation_failed', `body.topology: ${message}`, [{ path: 'body.topology', message }])
  }
  return contentWithTopology(api, waiting, topology ?? '')
}

/**
 * Content after an update. Topology and source belong together: an update that sets one replaces both, and one that sets
 * neither keeps the fetched topology.
 */
export async function changedContent(
  api: Api,
  current: StoredDefinition,
  changes: BodyOf<'putDefinition'>,
): Promise<Content> {
  const spec = changedSpec(current, changes)
  const { source, topology } = changes
  if (source === undefined && topology === undefined) {
    if (current.topology === null) return contentOf(api, { ...spec, source: current.source })
    return {
      ...(await contentOf(api, { ...spec, source: 'inline', topology: current.topology })),
      source: current.source,
    }
  }
  return contentOf(api, { ...spec, source: source ?? 'inline', ...(topology === undefined ? {} : { topology }) })
}

/** Fields that the author set. */
export function givenOf({ given, title, cml_version }: Pick<Content, 'given' | 'title' | 'cml_version'>) {
  return { ...given, title: given.title && title !== '', cml_min: given.cml_min && cml_version.min !== null }
}

/** Derived fields are left out, so that they are derived again from the next topology. */
function changedSpec(current: StoredDefinition, changes: BodyOf<'putDefinition'>): Omit<Spec, 'source'> {
  const given = givenOf(current)
  const { cml_version } = current
  const or = <T>(given: T | undefined, current: T): T => (given === undefined ? current : given)
  return {
    title: or(changes.title, given.title ? current.title : ''),
    description: or(changes.description, current.description),
    needs: or(changes.needs, given.needs ? current.needs : null),
    cml_version: or(changes.cml_version, given.cml_min ? cml_version : { ...cml_version, min: null }),
    license_affinity: or(changes.license_affinity, current.license_affinity),
    port_template: or(changes.port_template, given.port_template ? current.port_template : null),
    max_duration_minutes: or(changes.max_duration_minutes, current.max_duration_minutes),
    boot_lead_minutes: or(changes.boot_lead_minutes, current.boot_lead_minutes),
    lab_reuse: or(changes.lab_reuse, current.lab_reuse),
    saves_enabled: or(changes.saves_enabled, current.saves_enabled),
  }
}

/** Every author reads the source of a topology. */
function refuseCredentials(source: string): void {
  if (!/^https:\/\/[^/?#]*@/.test(source)) return
  const message = 'a name and password do not belong into an address'
  throw new ProblemError('validation_failed', `body.source: ${message}`, [{ path: 'body.source', message }])
}

/** Yields to other work. */
export const yieldToOthers =
  ({ clock }: Api) =>
  () =>
    clock.sleep(0)

/** Refuses an invalid topology and names the lines. */
async function contentWithTopology<T extends Content>(api: Api, content: T, text: string): Promise<T> {
  const reading = await readTopology(text, yieldToOthers(api))
  if (!reading.ok) throw new ProblemError('topology_invalid', summarizeErrors(reading.errors), [...reading.errors])
  const stray = invalidPorts(content, reading)
  if (stray.length > 0) throw new ProblemError('port_node_unknown', summarizePortErrors(stray), stray)
  return withTopology(content, text, reading)
}

type PortError = { readonly path: string; readonly message: string }

/** Errors in the author's ports, now that the nodes are known. */
export function invalidPorts({ given, port_template }: Content, { topology }: TopologyRead): PortError[] {
  const stray = given.port_template ? strayWishes(port_template, topology) : []
  return stray.slice(0, ERRORS_MAX).map(({ index, message }) => ({
    path: `body.port_template.${index}.node`,
    message: message.slice(0, MESSAGE_CHARS_MAX),
  }))
}
const ERRORS_MAX = 20
const MESSAGE_CHARS_MAX = 500

/** First error and the number of further ones. */
export const summarizePortErrors = ([first, ...more]: readonly PortError[]): string =>
  `port_template: ${first?.message}${more.length === 0 ? '' : ` (and ${more.length} more)`}`

export function withTopology<T extends Content>(content: T, text: string, { topology, sha256 }: TopologyRead): T {
  const { title, needs, port_template, cml_min } = givenOf(content)
  const { cml_version } = content
  return {
    ...content,
    topology: text,
    topology_sha256: sha256,
    title: title ? content.title : (topology.lab.title ?? ''),
    cml_version: cml_min ? cml_version : { ...cml_version, min: oldestCmlFor(topology) },
    node_definitions_required: nodeDefinitionsOf(topology),
    needs: needs ? content.needs : needsOf(topology),
    port_template: port_template ? content.port_template : portsOf(topology),
  }
}

/** Whether two contents are equal, however they were created. */
export const isSameContent = (one: Content, other: Content): boolean => fingerprintOf(one) === fingerprintOf(other)

const fingerprintOf = (content: Content): string =>
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
    content.saves_enabled,
    content.topology_sha256,
    givenOf(content),
  ])
