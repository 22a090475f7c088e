import { type ESTree, parseSync, Visitor } from 'rolldown/utils'

export type Program = ReturnType<typeof parseSync>['program']

export interface Source {
  readonly path: string
  readonly text: string
  readonly lines: readonly string[]
  readonly program: Program
  readonly imports: readonly Import[]
  /** The text with comments, strings and page prose blanked, line by line: what is left is what runs. */
  readonly code: readonly string[]
  /** The text with everything but comments blanked, line by line. */
  readonly comments: readonly string[]
  lineAt(offset: number): number
}

/** What all packages of ours are named under. */
export const SCOPE = '@lcm/'

export interface Import {
  /** Null when it is computed. */
  readonly specifier: string | null
  readonly line: number
  /** A `type` import is gone at run time. A `string` names a module for something else that loads it. */
  readonly kind: 'import' | 'type' | 're-export' | 'dynamic' | 'string'
}

interface Span {
  readonly start: number
  readonly end: number
}

/** Throws when the file can't be parsed: a file no rule can read must not pass them all. */
export function parseSource(path: string, text: string): Source {
  const { program, comments, errors } = parseSync(path, text)
  const [error] = errors
  if (error) throw new Error(`${path} can't be parsed: ${error.message}`)
  const lineAt = lineCounter(text)
  const imports = importsOf(program, lineAt)
  const quiet = [
    ...comments,
    ...proseOf(program, new Set(imports.flatMap(({ kind, start }) => (kind === 'string' ? [] : [start])))),
  ]
  return {
    path,
    text,
    lines: linesOf(text),
    program,
    imports,
    code: linesOf(blanked(text, quiet)),
    comments: linesOf(blanked(text, gapsBetween(comments, text.length))),
    lineAt,
  }
}

/** The lines of a text; a final newline ends the last line and starts none. */
export function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n')
}

/** A string that names a module of ours counts as an import of it, since there are many ways to load one. */
const NAMES_OURS = new RegExp(`${SCOPE}[\\w./-]*|^\\.{1,2}/.*/src/.*`, 'g')

function importsOf(program: Program, lineAt: (offset: number) => number): (Import & Span)[] {
  const found: (Import & Span)[] = []
  const add = (kind: Import['kind'], { start, end }: Span, specifier: string | null) =>
    found.push({ kind, specifier, line: lineAt(start), start, end })
  const addLoaded = (node: ESTree.Expression) => add('dynamic', node, stringOf(node))
  const addNamed = (node: Span, text: string) => {
    if (found.some(({ start, end }) => start <= node.start && node.end <= end)) return
    for (const [name] of text.matchAll(NAMES_OURS)) add('string', node, name)
  }
  new Visitor({
    ImportDeclaration: ({ importKind, source }) => add(importKind === 'type' ? 'type' : 'import', source, source.value),
    ExportAllDeclaration: ({ source }) => add('re-export', source, source.value),
    ExportNamedDeclaration: ({ source }) => source && add('re-export', source, source.value),
    ImportExpression: ({ source }) => addLoaded(source),
    TSImportType: ({ source }) => add('type', source, source.value),
    TSExternalModuleReference: ({ expression }) => add('import', expression, expression.value),
    // `createRequire` hides a package from the import graph; it is a dependency all the same.
    CallExpression: ({ callee, arguments: [first] }) => {
      if (callee.type === 'Identifier' && callee.name === 'require' && first && first.type !== 'SpreadElement')
        addLoaded(first)
    },
    Literal: node => typeof node.value === 'string' && addNamed(node, node.value),
    TemplateElement: node => addNamed(node, node.value.raw),
  }).visit(program)
  return found
}

function stringOf(node: ESTree.Expression): string | null {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null
  return node.type === 'TemplateLiteral' && node.expressions.length === 0
    ? (node.quasis[0]?.value.cooked ?? null)
    : null
}

/** Literals and page text, but for the names of modules. */
function proseOf(program: Program, moduleNames: ReadonlySet<number>): Span[] {
  const found: Span[] = []
  const add = (node: Span) => {
    if (!moduleNames.has(node.start)) found.push(node)
  }
  new Visitor({ Literal: add, TemplateElement: add, JSXText: add }).visit(program)
  return found
}

function blanked(text: string, spans: readonly Span[]): string {
  let result = ''
  let from = 0
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    result += text.slice(from, start) + text.slice(start, end).replace(/[^\n]/g, ' ')
    from = Math.max(from, end)
  }
  return result + text.slice(from)
}

function gapsBetween(spans: readonly Span[], length: number): Span[] {
  const edges = [0, ...spans.flatMap(({ start, end }) => [start, end]), length]
  return edges.flatMap((start, index) => (index % 2 === 0 ? [{ start, end: edges[index + 1] ?? length }] : []))
}

function lineCounter(text: string): (offset: number) => number {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return offset => {
    const after = starts.findIndex(start => start > offset)
    return after === -1 ? starts.length : after
  }
}
