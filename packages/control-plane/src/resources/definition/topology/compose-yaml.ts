import { Composer, type CST, type Document } from 'yaml'

export interface Complaint {
  readonly offset: number
  readonly message: string
}

class EnoughError extends Error {
  override readonly name = 'EnoughError'
}

/** First document of the tokens, or its errors; only a few, because each costs time. */
export function composeYaml(
  tokens: readonly CST.Token[],
  { length, complaintsMax }: { length: number; complaintsMax: number },
): { readonly document: Document.Parsed } | { readonly complaints: readonly Complaint[] } {
  const composer = new Composer({ schema: 'core', uniqueKeys: false, stringKeys: true, strict: true })
  const complaints: Complaint[] = []
  // The parser's own handler creates an error with a stack for each, possibly thousands; warnings are about unknown tags.
  const onError = (source: Source, _code: string, message: string) => {
    complaints.push({ offset: offsetOf(source), message: message.split('\n')[0] ?? '' })
    if (complaints.length >= complaintsMax) throw new EnoughError('there is enough wrong with it')
  }
  Object.assign(composer, { onError })
  try {
    const [document, second] = firstTwo(composer.compose(tokens, true, length))
    if (complaints.length > 0) return { complaints }
    if (document === undefined) return { complaints: [{ offset: 0, message: 'it is empty' }] }
    if (second !== undefined) return { complaints: [{ offset: second.range[0], message: 'a second document begins' }] }
    return { document }
  } catch (error) {
    if (error instanceof EnoughError) return { complaints }
    throw error
  }
}

type Source = number | readonly [number, number] | readonly [number, number, number] | { readonly offset: number }

function offsetOf(source: Source): number {
  if (typeof source === 'number') return source
  return 'offset' in source ? source.offset : source[0]
}

function firstTwo<T>(all: Iterable<T>): T[] {
  const found: T[] = []
  for (const each of all) {
    found.push(each)
    if (found.length === 2) break
  }
  return found
}
