import { Lexer, Parser } from 'yaml'

/** Deeper than anything that is meant. What nests without end takes all of the stack, and then the process with it. */
const DEPTH_MAX = 100
/** Lists and maps in brackets take longer to understand than anything else of their length. */
const BRACKETS_MAX = 20_000

/** Why a text must not be given to the parser of YAML; null where it may. It is read no further than to that place. */
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
