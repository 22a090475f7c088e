import { CmlRefusal } from '../http-messages.ts'
import type { ConfigurationFile, LabNode, TypedLine } from './lab.ts'
import { nodeDefinition } from './node-definitions.ts'

/** Name of a node's main configuration file. */
export const MAIN_FILE = 'Main'

const LINES_MAX = 1_000
const HOSTNAME = /^hostname\s/
const HOSTNAME_CHARS = /[^A-Za-z0-9_-]/g

/** What the node runs with: its start configuration, a name, and what was typed. Extracting it and booting it again changes nothing. */
export function runningConfiguration(node: LabNode): string {
  const heading = `${commentMark(node)} running configuration`
  const start = (node.files[0]?.content ?? '').split('\n').filter(line => line.trim() !== '' && line !== heading)
  const named = start.some(line => HOSTNAME.test(line)) ? start : [`hostname ${hostOf(node)}`, ...start]
  const lines = typedLines(node).reduce<readonly string[]>((before, { line }) => withLine(before, line), named)
  return [heading, ...lines, ''].join('\n')
}

/** The node after CML has copied its running configuration into the lab. */
export function withExtracted(node: LabNode): LabNode {
  const [main, ...others] = node.files
  const file: ConfigurationFile = { name: main?.name ?? MAIN_FILE, content: runningConfiguration(node) }
  return { ...node, files: [file, ...others] }
}

export function withTyped(node: LabNode, line: string, atMs: number): LabNode {
  const typed = typedLines(node)
  if (typed.length >= LINES_MAX) throw new CmlRefusal(400, `more than ${LINES_MAX} lines were typed on ${node.label}`)
  return { ...node, typed: [...typed, { at_ms: atMs, line }] }
}

/** The disk of a wiped node is empty: it boots with the configuration of the lab again. */
export const withoutTyped = (node: LabNode): LabNode => (typedLines(node).length === 0 ? node : { ...node, typed: [] })

/** What the serial console has shown; below each command the prompt appears again. */
export function consoleText(node: LabNode): string {
  const prompt = `${hostOf(node)}#`
  const lines = typedLines(node).map(({ line }) => `${prompt}${line}`)
  return [`${hostOf(node)} con0 is now available`, ...lines, lines.length === 0 ? '' : prompt].join('\n')
}

/** States stored by earlier releases lack the member. */
const typedLines = ({ typed = [] }: LabNode): readonly TypedLine[] => typed

function withLine(lines: readonly string[], typed: string): readonly string[] {
  if (HOSTNAME.test(typed)) return lines.map(line => (HOSTNAME.test(line) ? typed : line))
  if (typed.startsWith('no ')) return lines.filter(line => line !== typed.slice('no '.length))
  return lines.includes(typed) ? lines : [...lines, typed]
}

const hostOf = ({ label }: LabNode): string => label.replaceAll(HOSTNAME_CHARS, '-')

function commentMark({ node_definition }: LabNode): '!' | '#' {
  const nature = nodeDefinition(node_definition)?.nature
  return nature === 'server' || nature === 'host' ? '#' : '!'
}
