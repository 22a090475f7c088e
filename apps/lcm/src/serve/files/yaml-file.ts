import { readFileSync, statSync } from 'node:fs'
import { Lexer, Parser, parse } from 'yaml'

/** Larger files are refused. */
const BYTES_MAX = 1024 * 1024
/** Deeper nesting is refused, because it could overflow the stack of the parser. */
const DEPTH_MAX = 100
/** More brackets are refused, because flow collections are the slowest part to parse. */
const BRACKETS_MAX = 5_000

/** Reads a YAML file. Throws with a reason if it is invalid or too complex. */
export function readYamlFile(path: string): unknown {
  if (statSync(path).size > BYTES_MAX) throw new Error(`it is larger than ${BYTES_MAX} bytes`)
  const text = textOf(readFileSync(path))
  refuseEndless(text)
  return parse(text, { logLevel: 'error' })
}

function refuseEndless(text: string): void {
  const parser = new Parser()
  let brackets = 0
  for (const word of new Lexer().lex(text)) {
    Array.from(parser.next(word))
    if (word === '[' || word === '{') brackets += 1
    if (parser.stack.length > DEPTH_MAX) throw new Error('it is nested too deeply')
    if (brackets > BRACKETS_MAX) throw new Error(`it has more than ${BRACKETS_MAX} brackets`)
  }
}

/** Rejects invalid UTF-8 instead of silently replacing characters. */
function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Error('it is not UTF-8 text')
  }
}
