import { type CST, Lexer, type LineCounter, Parser } from 'yaml'

/** The tokens of a text, or where it is nested too deeply: what comes after that is never read. */
export function tokensOf(
  text: string,
  lines: LineCounter,
  depthMax: number,
): { tokens: readonly CST.Token[]; tooDeepAt: number | null } {
  const tokens: CST.Token[] = []
  const parser = new Parser(lines.addNewLine)
  lines.addNewLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme))
    if (parser.stack.length > depthMax) return { tokens: [], tooDeepAt: parser.offset }
  }
  tokens.push(...parser.end())
  return { tokens, tooDeepAt: null }
}
