import type { Problem } from '@lcm/contract/problems'
import { TOPOLOGY_CHARS_MAX } from '@lcm/domain/definition/lablet-definition'
import { judgeLabFile, type LabFileIssue } from '@lcm/domain/lab/lab-file'
import type { Topology } from '@lcm/domain/lab/topology'
import { issueWords } from '@lcm/domain/text/schema-issue-words'
import { type Document, isMap, isNode, isScalar, LineCounter, visit } from 'yaml'
import { sha256 } from '../../../crypto.ts'
import { composeYaml } from './compose-yaml.ts'
import { duplicateKey } from './duplicate-key.ts'
import { findUnsafeValue } from './unsafe-value.ts'
import { tokensOf } from './yaml-tokens.ts'

/** Deeper than any valid lab. */
const DEPTH_MAX = 50
/** Exports may repeat a list by alias. More aliases than this are a decompression attack. */
const ALIASES_MAX = 100
/** 300 nodes with their interfaces stay below it. */
export const WORDS_MAX = 100_000
/** Long texts, such as configurations, are read line by line. */
export const LINES_MAX = 60_000
const ERRORS_MAX = 20
const LIMITS = {
  depthMax: DEPTH_MAX,
  wordsMax: WORDS_MAX,
  bracketsMax: 10_000,
  quotedCharsMax: 400_000,
  oddTokensMax: 10,
}
const MESSAGE_LENGTH_MAX = 300

export type TopologyError = NonNullable<Problem['errors']>[number]

export interface TopologyRead {
  readonly ok: true
  readonly topology: Topology
  readonly sha256: string
}

export type TopologyReading = TopologyRead | { readonly ok: false; readonly errors: readonly TopologyError[] }

/**
 * Parses a lab from YAML, or reports errors with their lines. It takes bounded time for any text and yields to other work at
 * each pause.
 */
export async function readTopology(text: string, pause: () => Promise<void>): Promise<TopologyReading> {
  if (text.length > TOPOLOGY_CHARS_MAX) return refused([at([], 1, `at most ${TOPOLOGY_CHARS_MAX} characters`)])
  if (isBeyondLines(text)) return refused([at([], LINES_MAX + 1, `at most ${LINES_MAX} lines`)])
  const lines = new LineCounter()
  const lineOf = (offset: number) => Math.max(1, lines.linePos(offset).line)
  const { tokens, isLong, beyond } = await tokensOf(text, lines, LIMITS, pause)
  if (beyond !== null) return refused([at([], lineOf(beyond.offset), beyond.message)])
  const rest = async () => (isLong ? pause() : undefined)
  await rest()
  const whole = composeYaml(tokens, { length: text.length, complaintsMax: ERRORS_MAX })
  if (!('document' in whole))
    return refused(whole.complaints.map(({ offset, message }) => at([], lineOf(offset), `this is no YAML: ${message}`)))
  await rest()
  const excess = excessOf(whole.document)
  if (excess !== null) return refused([at([], lineOf(excess.offset), excess.message)])
  await rest()
  return judged(text, whole.document, lineOf)
}

function isBeyondLines(text: string): boolean {
  let [lines, from] = [1, 0]
  while (lines <= LINES_MAX) {
    from = text.indexOf('\n', from) + 1
    if (from === 0) return false
    lines += 1
  }
  return true
}

/** Validates the parsed document as a lab. */
function judged(text: string, document: Document.Parsed, lineOf: LineOf): TopologyReading {
  const value = plainOf(document)
  if (value === GREW) return refused([at([], 1, 'its aliases make it too long')])
  const whereIs = (path: readonly PropertyKey[]) => lineOf(offsetOf(document, path))
  const odd = findUnsafeValue(value, { depthMax: DEPTH_MAX, charsMax: 2 * TOPOLOGY_CHARS_MAX })
  if (odd !== null) return refused([at(odd.path, whereIs(odd.path), odd.message)])
  const verdict = judgeLabFile(value)
  if (verdict.isGood) return { ok: true, topology: verdict.topology, sha256: sha256(text) }
  const issues = verdict.issues.slice(0, ERRORS_MAX).flatMap(complaintsOf)
  return refused(issues.map(({ path, message }) => at(path, whereIs(path), message)))
}

const NO_LAB = 'it is no lab of CML: that has lab, nodes and links'

/** Author-facing messages: an unknown key is reported at its own path. */
function complaintsOf(issue: LabFileIssue): Pick<LabFileIssue, 'path' | 'message'>[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(key => ({ path: [...issue.path, key], message: 'CML knows nothing of this name here' }))
  const isNoLab = issue.code === 'invalid_type' && issue.path.length === 0
  return [{ path: issue.path, message: isNoLab ? NO_LAB : issueWords(issue) }]
}

const GREW = Symbol('it grew beyond measure')

function plainOf(document: Document.Parsed): unknown {
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX })
  } catch (error) {
    // `toJS` refuses only exponential aliases.
    if (error instanceof ReferenceError) return GREW
    throw error
  }
}

/** One sentence that names the first error and its line. */
export const summarizeErrors = (errors: readonly TopologyError[]): string => {
  const [first] = errors
  if (first === undefined) return 'it cannot be read'
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

/** A duplicate key, or too many aliases. */
function excessOf(document: Document.Parsed): { offset: number; message: string } | null {
  const repeated = duplicateKey(document)
  if (repeated !== null) return { offset: repeated.offset, message: `${repeated.key} is there already` }
  const offset = aliasBeyond(document, ALIASES_MAX)
  return offset === null ? null : { offset, message: `more than ${ALIASES_MAX} aliases` }
}

/** Position of the first alias above the limit. Nested aliases grow exponentially, so few are allowed. */
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

/** Position of the node at a path, or of its nearest parent. A map entry is at its key. */
function offsetOf(document: Document.Parsed, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const around: unknown = nodeAt(document, path.slice(0, length - 1))
    const name = path[length - 1]
    const key = isMap(around) ? around.items.find(pair => isScalar(pair.key) && pair.key.value === name)?.key : null
    if (isNode(key)) return key.range?.[0] ?? 0
    const node: unknown = nodeAt(document, path.slice(0, length))
    if (isNode(node)) return node.range?.[0] ?? 0
  }
  return document.contents?.range?.[0] ?? 0
}

function nodeAt(document: Document.Parsed, path: readonly PropertyKey[]): unknown {
  try {
    return document.getIn(path, true)
  } catch {
    // A path through an alias has no node.
    return null
  }
}
