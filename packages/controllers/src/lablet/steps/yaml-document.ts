import { Composer, type CST, type Document, Lexer, Parser } from 'yaml'

/** The API refuses aliases and duplicate keys far below this limit. */
const ALIASES_MAX = 100
/** Words that are parsed before other work may run; they take a few milliseconds. */
const WORDS_PER_SLICE = 2_000

/** The same options as in the API, whatever YAML version the file declares. With `failsafe` every value is text. */
const optionsOf = (schema: 'core' | 'failsafe') => ({ schema, uniqueKeys: false, stringKeys: true }) as const

/** Other work runs while a long text is parsed. */
export async function parsedDocument(
  text: string,
  schema: 'core' | 'failsafe',
  pause: () => Promise<void>,
): Promise<Document> {
  const tokens: CST.Token[] = []
  const parser = new Parser()
  let words = 0
  for (const word of new Lexer().lex(text)) {
    for (const token of parser.next(word)) tokens.push(token)
    words += 1
    if (words % WORDS_PER_SLICE === 0) await pause()
  }
  tokens.push(...parser.end())
  const [document] = [...new Composer(optionsOf(schema)).compose(tokens, true, text.length)]
  if (words > WORDS_PER_SLICE) await pause()
  if (document === undefined) throw new Error('the text has no YAML document')
  return document as Document
}

export const toPlain = (document: Document): unknown => document.toJS({ maxAliasCount: ALIASES_MAX })
