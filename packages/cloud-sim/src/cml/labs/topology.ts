import { Lexer, Parser, parse } from 'yaml'
import { CmlRefusal } from '../http-messages.ts'
import {
  anyObject,
  type Check,
  checked,
  either,
  flag,
  integer,
  isObject,
  listOf,
  nullable,
  object,
  oneOf,
  text,
} from '../input-checks.ts'

/** Coordinates of an annotation. */
const place = integer(-15_000, 15_000)

const VERSIONS = ['0.0.1', '0.0.2', '0.0.3', '0.0.4', '0.0.5', '0.1.0', '0.2.0', '0.2.1', '0.2.2', '0.3.0'] as const
/** Since CML 2.10. */
const LATER_VERSION = '0.3.1'
const LATER_MINOR = 10

const file = object<{ name: string }, { content: string | null }>(
  { name: text(64) },
  { content: nullable(text(Number.POSITIVE_INFINITY)) },
)
type TopologyFile = { readonly name: string; readonly content?: string | null }
const configuration: Check<Configuration> = nullable(either(text(Number.POSITIVE_INFINITY), either(listOf(file), file)))
export type Configuration = string | null | readonly TopologyFile[] | TopologyFile

export interface NodeMembers {
  readonly image_definition: string | null
  readonly ram: number | null
  readonly cpus: number | null
  readonly cpu_limit: number | null
  readonly data_volume: number | null
  readonly boot_disk_size: number | null
  readonly hide_links: boolean | null
  readonly tags: readonly string[]
  readonly parameters: Readonly<Record<string, unknown>>
  readonly configuration: Configuration
}

export const NODE_MEMBERS: { readonly [K in keyof NodeMembers]: Check<NodeMembers[K]> } = {
  image_definition: nullable(text(250)),
  ram: nullable(integer(1, 1_048_576)),
  cpus: nullable(integer(1, 128)),
  cpu_limit: nullable(integer(20, 100)),
  data_volume: nullable(integer(0, 4096)),
  boot_disk_size: nullable(integer(0, 4096)),
  hide_links: nullable(flag),
  tags: listOf(text(64)),
  parameters: anyObject,
  configuration,
}

export interface NodePlace {
  readonly label: string
  readonly x: number
  readonly y: number
}
export const NODE_PLACE: { readonly [K in keyof NodePlace]: Check<NodePlace[K]> } = {
  label: text(128, 1),
  x: place,
  y: place,
}

interface InterfaceRequired {
  readonly id: string
  readonly type: 'physical' | 'loopback'
}
interface InterfaceOptional {
  readonly node: string
  readonly label: string
  readonly slot: number
  readonly mac_address: string | null
}
const interfaceCheck = object<InterfaceRequired, InterfaceOptional>(
  { id: text(64, 1), type: oneOf('physical', 'loopback') },
  { node: text(64), label: text(128), slot: integer(0, 128), mac_address: nullable(text(64)) },
)
export type TopologyInterface = InterfaceRequired & Partial<InterfaceOptional>

interface NodeRequired extends NodePlace {
  readonly id: string
  readonly node_definition: string
}
interface NodeOptional extends NodeMembers {
  readonly interfaces: readonly TopologyInterface[]
}
const nodeCheck = object<NodeRequired, NodeOptional>(
  { ...NODE_PLACE, id: text(64, 1), node_definition: text(250, 1) },
  { ...NODE_MEMBERS, interfaces: listOf(interfaceCheck) },
)
export type TopologyNode = NodeRequired & Partial<NodeOptional>

interface LinkRequired {
  readonly id: string
  readonly n1: string
  readonly i1: string
  readonly n2: string
  readonly i2: string
}
interface LinkOptional {
  readonly label: string
  readonly conditioning: Readonly<Record<string, unknown>>
}
const end = text(64, 1)
const linkCheck = object<LinkRequired, LinkOptional>(
  { id: end, n1: end, i1: end, n2: end, i2: end },
  { label: text(128), conditioning: anyObject },
)
export type TopologyLink = LinkRequired & Partial<LinkOptional>

interface LabMembers {
  readonly title: string
  readonly description: string
  readonly notes: string
}

export interface Topology {
  readonly lab: { readonly version: string } & Partial<LabMembers>
  readonly nodes: readonly TopologyNode[]
  readonly links: readonly TopologyLink[]
  readonly annotations?: readonly Readonly<Record<string, unknown>>[]
  readonly smart_annotations?: readonly Readonly<Record<string, unknown>>[]
}

function topologyCheck(versions: readonly string[]): Check<Topology> {
  const pictures = listOf(anyObject)
  return object<
    Pick<Topology, 'lab' | 'nodes' | 'links'>,
    Required<Pick<Topology, 'annotations' | 'smart_annotations'>>
  >(
    {
      lab: object<{ version: string }, LabMembers>(
        { version: oneOf(...versions) },
        { title: text(64), description: text(4096), notes: text(32_768) },
      ),
      nodes: listOf(nodeCheck),
      links: listOf(linkCheck),
    },
    { annotations: pictures, smart_annotations: pictures },
  )
}

/** Parses a topology, YAML or JSON, as a server of that minor version does, or throws a 400. */
export function topologyIn(source: string, minorVersion: number): Topology {
  const versions = minorVersion >= LATER_MINOR ? [...VERSIONS, LATER_VERSION] : VERSIONS
  const topology = checked(documentIn(source), topologyCheck(versions), [])
  checkReferences(topology)
  return topology
}

/** JSON is valid YAML too, but the YAML parser is slow. */
function documentIn(source: string): unknown {
  try {
    return JSON.parse(source)
  } catch {
    return yamlIn(source)
  }
}

/** Unbounded nesting would exhaust the stack and end the process. */
const DEPTH_MAX = 100

function refuseEndless(source: string): void {
  const parser = new Parser()
  for (const word of new Lexer().lex(source)) {
    Array.from(parser.next(word))
    if (parser.stack.length > DEPTH_MAX) throw new CmlRefusal(400, 'Topology is not valid YAML: nested too deeply')
  }
}

function yamlIn(source: string): unknown {
  refuseEndless(source)
  let found: unknown
  try {
    found = parse(source, { logLevel: 'error' })
  } catch (error) {
    throw new CmlRefusal(400, `Topology is not valid YAML: ${error instanceof Error ? error.message : error}`)
  }
  if (!isObject(found))
    throw new CmlRefusal(400, 'Topology is not valid: a mapping with lab, nodes and links is needed.')
  return found
}

/** Node and link ids are unique in the file, interface ids within their node; links must join existing interfaces. */
function checkReferences({ nodes, links }: Topology): void {
  const ports = new Map(nodes.map(node => [node.id, new Set((node.interfaces ?? []).map(({ id }) => id))]))
  const double = firstDouble(nodes) ?? firstDouble(links) ?? nodes.map(doubleInterface).find(id => id !== undefined)
  if (double !== undefined) throw new CmlRefusal(400, `Topology is not valid: the id ${double} is used twice.`)
  for (const link of links) {
    const ends = [link.n1, link.i1, link.n2, link.i2]
    const isWhole = ports.get(link.n1)?.has(link.i1) && ports.get(link.n2)?.has(link.i2)
    if (!isWhole) throw new CmlRefusal(400, `Topology is not valid: link ${link.id} ends nowhere (${ends.join(', ')}).`)
  }
}

const doubleInterface = (node: TopologyNode): string | undefined => firstDouble(node.interfaces ?? [])

function firstDouble(items: readonly { readonly id: string }[]): string | undefined {
  const seen = new Set<string>()
  return items.find(({ id }) => seen.size === seen.add(id).size)?.id
}
