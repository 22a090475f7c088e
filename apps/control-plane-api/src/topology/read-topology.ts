import { createHash } from 'node:crypto'
import type { Problem } from '@lcm/contract/problems'
import { TOPOLOGY_CHARS_MAX } from '@lcm/domain/lablet/lablet-definition'
import { Topology } from '@lcm/domain/lablet/topology'
import { Composer, type CST, type Document, isNode, LineCounter, type ParsedNode, visit } from 'yaml'
import { repeatedKey } from './repeated-key.ts'
import { oddityIn } from './value-oddities.ts'
import { tokensOf } from './yaml-tokens.ts'

/** Deeper than any lab that is meant. */
const DEPTH_MAX = 50
/** Exports repeat a list by reference now and then. More than that is meant to grow when it is read. */
const ALIASES_MAX = 100
const ERRORS_MAX = 20
const MESSAGE_LENGTH_MAX = 300

export type TopologyError = NonNullable<Problem['errors']>[number]

export type TopologyReading =
  | { readonly ok: true; readonly topology: Topology; readonly sha256: string }
  | { readonly ok: false; readonly errors: readonly TopologyError[] }

/** Reads a lab from its YAML, or says what is wrong with it and in which line. Whatever the text is, it ends soon. */
export function readTopology(text: string): TopologyReading {
  if (text.length > TOPOLOGY_CHARS_MAX) return refused([at([], 1, `at most ${TOPOLOGY_CHARS_MAX} characters`)])
  const lines = new LineCounter()
  const lineOf = (offset: number) => Math.max(1, lines.linePos(offset).line)
  const { tokens, tooDeepAt } = tokensOf(text, lines, DEPTH_MAX)
  if (tooDeepAt !== null) return refused([at([], lineOf(tooDeepAt), 'nested too deeply')])
  const composed = compose(tokens, text.length, lineOf)
  if (!('document' in composed)) return refused(composed.errors)
  const value = plainOf(composed.document)
  if (value === GREW) return refused([at([], 1, 'its aliases make it too long')])
  const whereIs = (path: readonly PropertyKey[]) => lineOf(offsetOf(composed.document, path))
  const odd = oddityIn(value, { depthMax: DEPTH_MAX, charsMax: 2 * TOPOLOGY_CHARS_MAX })
  if (odd !== null) return refused([at(odd.path, whereIs(odd.path), odd.message)])
  const parsed = Topology.safeParse(value)
  if (parsed.success) return { ok: true, topology: parsed.data, sha256: sha256(text) }
  const issues = parsed.error.issues.slice(0, ERRORS_MAX)
  return refused(issues.map(({ path, message }) => at(path, whereIs(path), message)))
}

const GREW = Symbol('it grew beyond measure')

function plainOf(document: Document.Parsed): unknown {
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX })
  } catch (error) {
    // The only thing that it refuses: aliases of aliases of aliases.
    if (error instanceof ReferenceError) return GREW
    throw error
  }
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Where something is wrong, in one sentence for people. */
export const gistOf = (errors: readonly TopologyError[]): string => {
  const [first] = errors
  if (first === undefined) return 'it can not be read'
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  const place = first.path.replace(/^body\.topology\.?/, '')
  return `line ${first.line ?? 1}: ${place === '' ? '' : `${place}: `}${first.message}${more}`
}

const refused = (errors: readonly TopologyError[]): TopologyReading => ({
  ok: false,
  errors: errors.slice(0, ERRORS_MAX),
})

const at = (path: readonly PropertyKey[], line: number, message: string): TopologyError => ({
  path: ['body.topology', ...path].map(String).join('.').slice(0, MESSAGE_LENGTH_MAX),
  message: message.slice(0, MESSAGE_LENGTH_MAX),
  line,
})

type LineOf = (offset: number) => number

/** One document of plain values: no tags of anybody's own, no key twice. */
function compose(
  tokens: readonly CST.Token[],
  length: number,
  lineOf: LineOf,
): { document: Document.Parsed } | { errors: TopologyError[] } {
  const composer = new Composer({ schema: 'core', uniqueKeys: false, stringKeys: true, strict: true })
  const [document, second] = [...composer.compose(tokens, true, length)]
  if (document === undefined) return { errors: [at([], 1, 'it is empty')] }
  // A warning is about a tag that means something elsewhere.
  const wrong = [...document.errors, ...document.warnings]
  if (wrong.length > 0) return { errors: wrong.map(({ pos, message }) => at([], lineOf(pos[0]), firstLine(message))) }
  if (second !== undefined) return { errors: [at([], lineOf(second.range[0]), 'a second document begins')] }
  const repeated = repeatedKey(document)
  if (repeated !== null) return { errors: [at([], lineOf(repeated.offset), `${repeated.key} is there already`)] }
  const excess = aliasBeyond(document, ALIASES_MAX)
  return excess === null ? { document } : { errors: [at([], lineOf(excess), `more than ${ALIASES_MAX} aliases`)] }
}

const firstLine = (message: string): string => message.split('\n')[0] ?? ''

/** Where there is one alias too many. Those that repeat each other grow fast, so that few are let pass at all. */
function aliasBeyond(document: Document.Parsed, max: number): number | null {
  let count = 0
  let excess: number | null = null
  visit(document, {
    Alias(_, node) {
      count += 1
      if (count <= max) return undefined
      excess = node.range?.[0] ?? 0
      return visit.BREAK
    },
  })
  return excess
}

/** The place of what a path leads to, or of the nearest thing around it. */
function offsetOf(document: Document.Parsed, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const node: unknown = nodeAt(document, path.slice(0, length))
    if (isNode(node)) return (node as ParsedNode).range?.[0] ?? 0
  }
  return document.contents?.range?.[0] ?? 0
}

function nodeAt(document: Document.Parsed, path: readonly PropertyKey[]): unknown {
  try {
    return document.getIn(path, true)
  } catch {
    // A path through an alias leads nowhere by itself.
    return null
  }
}
