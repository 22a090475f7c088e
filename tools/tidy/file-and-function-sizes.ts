import { Visitor } from 'rolldown/utils'
import { linesOf, type Source } from './parse-source.ts'
import { isTest, type Tree, type Violation } from './repository-tree.ts'

const FUNCTION_LINES_MAX = 70
const FILE_LINES_MAX = 400
const LINE_COLUMNS_MAX = 140
const PARAMETERS_MAX = 4

interface Span {
  readonly start: number
  readonly end: number
}

/** Functions, files and lines over the limits. Tests may be long, because a list of sentences is easy to read. */
export function checkSizes(tree: Tree): Violation[] {
  return [
    ...tree.sources.flatMap(longLines),
    ...tree.sources.flatMap(longParameterLists),
    ...tree.sources
      .filter(({ path }) => !isTest(path))
      .flatMap(source => [...longFile(source), ...longFunctions(source)]),
  ]
}

function longFile({ path, text }: Source): Violation[] {
  const { length } = linesOf(text)
  if (length <= FILE_LINES_MAX) return []
  return [{ path, line: 1, rule: `file of ${length} lines, at most ${FILE_LINES_MAX}`, use: 'one file per idea' }]
}

function longLines({ path, lines }: Source): Violation[] {
  return lines.flatMap((text, index) => {
    if (text.length <= LINE_COLUMNS_MAX) return []
    const rule = `line of ${text.length} columns, at most ${LINE_COLUMNS_MAX}`
    return [{ path, line: index + 1, rule, use: 'break it, or name a part of it' }]
  })
}

function longFunctions(source: Source): Violation[] {
  const found: Violation[] = []
  const measure = ({ start, end }: Span) => {
    const line = source.lineAt(start)
    const length = source.lineAt(end - 1) - line + 1
    if (length <= FUNCTION_LINES_MAX) return
    const rule = `function of ${length} lines, at most ${FUNCTION_LINES_MAX}`
    found.push({ path: source.path, line, rule, use: 'name its steps' })
  }
  const visitor = new Visitor({
    FunctionDeclaration: measure,
    FunctionExpression: measure,
    ArrowFunctionExpression: measure,
  })
  visitor.visit(source.program)
  return found
}

function longParameterLists(source: Source): Violation[] {
  const found: Violation[] = []
  const count = ({ start, params }: Span & { params: readonly unknown[] }) => {
    if (params.length <= PARAMETERS_MAX) return
    const rule = `${params.length} parameters, at most ${PARAMETERS_MAX}`
    found.push({ path: source.path, line: source.lineAt(start), rule, use: 'one options object' })
  }
  const visitor = new Visitor({
    FunctionDeclaration: count,
    FunctionExpression: count,
    ArrowFunctionExpression: count,
    TSMethodSignature: count,
    TSFunctionType: count,
  })
  visitor.visit(source.program)
  return found
}
