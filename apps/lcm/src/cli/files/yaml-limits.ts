import { Lexer, Parser } from 'yaml'

/** Deeper nesting is refused, because it could overflow the stack of the parser. */
const DEPTH_MAX = 100
/** More brackets are refused, because flow collections are the slowest part to parse. */
const BRACKETS_MAX = 20_000

/** The reason why a text is unsafe to parse as YAML; null if it is safe. Stops reading at the first problem. */
export function yamlTrouble(text: string): string | null {
  const parser = new Parser()
  let brackets = 0
  for (const word of new Lexer().lex(text)) {
    Array.from(parser.next(word))
    if (word === '[' || word === '{') brackets += 1
    if (parser.stack.length > DEPTH_MAX) return 'it is nested too deeply'
    if (brackets > BRACKETS_MAX) return `it has more than ${BRACKETS_MAX} brackets`
  }
  return null
}
