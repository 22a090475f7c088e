import { type PortWish, TaggedTopology, tagsWithPorts, wishesAfterRenames, withoutPorts } from '@lcm/domain/lab/ports'
import { type Document, isAlias, isMap, isScalar, isSeq, type YAMLMap } from 'yaml'
import { parsedDocument, toPlain } from './yaml-document.ts'

export interface SavedTopology {
  /** YAML that CML imports. */
  readonly topology: string
  /** Labels of its nodes. */
  readonly labels: readonly string[]
  /** The ports to open, at the labels that their nodes have now. */
  readonly wishes: readonly PortWish[]
}

/**
 * Saved work as CML imports it, with the allocated ports. CML wrote it, perhaps a later release than LCM knows, with rules of its
 * own about what is a number: all but the tags stays as it was written, so that a label such as `1e3` stays text.
 */
export async function savedTopology(
  text: string,
  template: readonly PortWish[],
  ports: Readonly<Record<string, number>>,
  pause: () => Promise<void>,
): Promise<SavedTopology> {
  const document = await parsedDocument(text, 'failsafe', pause)
  const [error] = document.errors
  if (error !== undefined) throw error
  const { nodes } = TaggedTopology.parse(withTags(toPlain(document)))
  const wishes = wishesAfterRenames(template, nodes)
  const found = document.get('nodes', true)
  if (!isSeq(found)) throw new Error('the nodes are not a list')
  // The old tags stay in the document: an alias may refer to them.
  const tagsOf = new Map<unknown, readonly string[]>()
  for (const [n, { label, tags }] of nodes.entries())
    tagsOf.set(mapAt(found.items[n], document), tagsWithPorts(label, tags ?? [], wishes, ports))
  const notes = document.get('smart_annotations', true)
  if (isSeq(notes))
    notes.items = notes.items.filter(note => withoutPorts([String(mapAt(note, document).get('tag') ?? '')]).length > 0)
  return {
    topology: flowText(document.contents, { document, tagsOf }),
    labels: nodes.map(({ label }) => label),
    wishes,
  }
}

/** An empty value is text too where nothing is a number. */
function withTags(read: unknown): unknown {
  const nodes = (read as { nodes?: unknown } | null)?.nodes
  if (!Array.isArray(nodes)) return null
  return { nodes: nodes.map(node => ({ ...node, tags: Array.isArray(node?.tags) ? node.tags : [] })) }
}

function mapAt(node: unknown, document: Document): YAMLMap {
  const found = isAlias(node) ? node.resolve(document) : node
  if (!isMap(found)) throw new Error('the topology has a node that is not a map')
  return found
}

interface Writing {
  readonly document: Document
  /** The tags of nodes, instead of those in the document. */
  readonly tagsOf: ReadonlyMap<unknown, readonly string[]>
}

/** Text that was written without quotes stays so; other text is quoted. */
function flowText(node: unknown, writing: Writing): string {
  if (isAlias(node)) return flowText(node.resolve(writing.document), writing)
  if (isSeq(node)) return `[${node.items.map(item => flowText(item, writing)).join(', ')}]`
  if (isMap(node)) return mapText(node, writing)
  if (!isScalar(node)) return 'null'
  const value = String(node.value ?? '')
  if (node.type !== 'PLAIN') return JSON.stringify(value)
  if (value === '') return 'null'
  return SAFE_IN_FLOW.test(value) ? value : JSON.stringify(value)
}
/** Words, numbers and `~`, which mean the same in braces. */
const SAFE_IN_FLOW = /^(?:[+.]?[-+.]?\w[\w.+-]*|-[\w.][\w.+-]*|~)$/

function mapText(map: YAMLMap, writing: Writing): string {
  const tags = writing.tagsOf.get(map)
  const entries = map.items.map(({ key, value }) => [keyText(key), flowText(value, writing)] as const)
  const written = new Map(entries)
  if (tags !== undefined) written.set('"tags"', JSON.stringify(tags))
  return `{${[...written].map(([key, value]) => `${key}: ${value}`).join(', ')}}`
}

const keyText = (key: unknown): string => JSON.stringify(isScalar(key) ? String(key.value) : String(key))
