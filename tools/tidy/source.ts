import { parseSync, Visitor } from 'rolldown/utils'

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

export interface Import {
  readonly specifier: string
  readonly line: number
  /** A `type` import is gone at run time. */
  readonly kind: 'import' | 'type' | 're-export' | 'dynamic'
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
  const quiet = [...comments, ...proseOf(program, new Set(imports.map(found => found.start)))]
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

function importsOf(program: Program, lineAt: (offset: number) => number): (Import & Span)[] {
  const found: (Import & Span)[] = []
  const add = (kind: Import['kind'], { value, start, end }: Span & { value: string }) =>
    found.push({ kind, specifier: value, line: lineAt(start), start, end })
  new Visitor({
    ImportDeclaration: node => add(node.importKind === 'type' ? 'type' : 'import', node.source),
    ExportAllDeclaration: node => add('re-export', node.source),
    ExportNamedDeclaration: node => node.source && add('re-export', node.source),
    ImportExpression: ({ source }) => {
      if (source.type === 'Literal' && typeof source.value === 'string')
        add('dynamic', { ...source, value: source.value })
    },
    TSImportType: node => add('type', node.source),
    // `createRequire` hides a package from the import graph; it is a dependency all the same.
    CallExpression: ({ callee, arguments: [first] }) => {
      if (callee.type !== 'Identifier' || callee.name !== 'require') return
      if (first?.type === 'Literal' && typeof first.value === 'string') add('dynamic', { ...first, value: first.value })
    },
  }).visit(program)
  return found
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
