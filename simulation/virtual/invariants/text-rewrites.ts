import type { Document } from '@lcm/store/store'

interface Written {
  readonly version: number
  readonly whole: string
  readonly withoutTexts: string
}

/** No document is written again when only texts have changed. Returns the violation of each version that follows the last one. */
export function textRewrites(kind: string): (document: Document) => readonly string[] {
  const latest = new Map<string, Written>()
  return document => {
    const before = latest.get(document.id)
    const written = writtenAs(document)
    latest.set(document.id, written)
    const isNext = before !== undefined && before.version + 1 === written.version
    const isRewrite = isNext && before.withoutTexts === written.withoutTexts && before.whole !== written.whole
    return isRewrite ? [`${kind} ${document.id} was written again, and only its texts changed`] : []
  }
}

/** Without the version and the time of the write, which every write changes. */
function writtenAs(document: Document): Written {
  const content = { ...document, version: null, updated_at: null }
  return {
    version: document.version,
    whole: JSON.stringify(content),
    withoutTexts: JSON.stringify(content, withoutText),
  }
}

/** Messages, and what AWS says next to its error code: it words and encodes every refusal differently. CML has no such codes. */
function withoutText(name: string, value: unknown): unknown {
  if (name === 'message') return ''
  return name === 'params' && typeof value === 'object' && value !== null && 'aws_code' in value
    ? { ...value, error: '' }
    : value
}
