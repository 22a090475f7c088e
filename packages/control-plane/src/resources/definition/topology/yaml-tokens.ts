import { type CST, Lexer, type LineCounter, Parser } from 'yaml'

/** Limits of a topology. It is read in slices of a fixed number of words, with a pause after each. */
export interface TokenLimits {
  readonly depthMax: number
  readonly wordsMax: number
  /** Flow collections are the slowest to parse for their length. */
  readonly bracketsMax: number
  /** Quoted text is parsed character by character. */
  readonly quotedCharsMax: number
  /** Directives, document markers and errors; each costs far more than a word. */
  readonly oddTokensMax: number
}

export interface Tokens {
  readonly tokens: readonly CST.Token[]
  readonly isLong: boolean
  /** Offset and limit that was exceeded; the rest is never read. */
  readonly beyond: { readonly offset: number; readonly message: string } | null
}

/** Words per slice, which takes a few milliseconds. */
export const WORDS_PER_SLICE = 2_000

/** Tokens between documents, besides comments and empty lines. */
const ODD: ReadonlySet<CST.Token['type']> = new Set(['directive', 'document', 'doc-end', 'error'])

export async function tokensOf(
  text: string,
  lines: LineCounter,
  limits: TokenLimits,
  pause: () => Promise<void>,
): Promise<Tokens> {
  const tokens: CST.Token[] = []
  const parser = new Parser(lines.addNewLine)
  const beyond = (message: string): Tokens => ({ tokens, isLong: true, beyond: { offset: parser.offset, message } })
  lines.addNewLine(0)
  let [words, brackets, quotedChars, oddTokens] = [0, 0, 0, 0]
  for (const word of new Lexer().lex(text)) {
    for (const token of parser.next(word)) {
      tokens.push(token)
      if (ODD.has(token.type)) oddTokens += 1
    }
    words += 1
    if (word === '[' || word === '{') brackets += 1
    if (word.startsWith('"') || word.startsWith("'")) quotedChars += word.length
    if (parser.stack.length > limits.depthMax) return beyond('nested too deeply')
    if (words > limits.wordsMax) return beyond(`more than ${limits.wordsMax} words and signs`)
    if (brackets > limits.bracketsMax) return beyond(`more than ${limits.bracketsMax} brackets`)
    if (quotedChars > limits.quotedCharsMax) return beyond(`more than ${limits.quotedCharsMax} characters in quotes`)
    if (oddTokens > limits.oddTokensMax) return beyond('this is no single document')
    if (words % WORDS_PER_SLICE === 0) await pause()
  }
  tokens.push(...parser.end())
  return { tokens, isLong: words > WORDS_PER_SLICE, beyond: null }
}
