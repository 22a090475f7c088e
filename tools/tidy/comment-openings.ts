import { Visitor } from 'rolldown/utils'
import { linesOf, type Source } from './parse-source.ts'
import { isTest, type Tree, type Violation } from './repository-tree.ts'

const VAGUE_OPENING = /^(Who|Whoever|Whom|Whose|What is|What's|Those|Nobody|Somebody)\b/
const COMMENT_START = /^\s*(?:\/\/|\/\*\*?|#|<!--)\s*(.*)$/
const PRODUCT = /^(packages|apps)\/[^/]+\/src\//
const COMMENTED_TEXT = /\.(css|py|ya?ml|html|toml)$|^\.ci\/run$|^Dockerfile$/

/** A comment or help text names its subject first. */
export function checkOpenings(tree: Tree): Violation[] {
  return [
    ...tree.sources.flatMap(({ path, comments }) => vagueComments(path, comments)),
    ...tree.files
      .filter(({ path }) => COMMENTED_TEXT.test(path))
      .flatMap(({ path, text }) => vagueComments(path, linesOf(text))),
    ...tree.sources.filter(({ path }) => PRODUCT.test(path) && !isTest(path)).flatMap(vagueTexts),
  ]
}

/** A line that goes on where another ended begins nothing. */
function vagueComments(path: string, lines: readonly string[]): Violation[] {
  return lines.flatMap((line, index) => {
    const before = lines[index - 1] ?? ''
    const isBegun = /^\s*\*/.test(line) ? /^\s*\/\*\*?\s*$/.test(before) : !/^\s*(\/\/|#)/.test(before)
    const [, text = ''] = COMMENT_START.exec(line.replace(/^\s*\*\s/, '/** ')) ?? []
    return isBegun && VAGUE_OPENING.test(text) ? [vague(path, index + 1, text)] : []
  })
}

/** Help, page and message texts: literals of at least three words. */
function vagueTexts(source: Source): Violation[] {
  const found: Violation[] = []
  const add = (start: number, text: string) => {
    const words = text.trim()
    if (VAGUE_OPENING.test(words) && words.split(/\s+/).length >= 3)
      found.push(vague(source.path, source.lineAt(start), words))
  }
  new Visitor({
    Literal: node => {
      if (typeof node.value === 'string') add(node.start, node.value)
    },
    TemplateLiteral: node => add(node.start, node.quasis[0]?.value.raw ?? ''),
    JSXText: node => add(node.start, node.value),
  }).visit(source.program)
  return found
}

function vague(path: string, line: number, text: string): Violation {
  const [opening = ''] = VAGUE_OPENING.exec(text) ?? []
  return { path, line, rule: `begins with ${opening}`, use: 'the subject first: a noun of the code' }
}
