import { type Document, isScalar, visit } from 'yaml'

/** First duplicate key of any map. The parser's own check compares each key with all others, which takes hours. */
export function duplicateKey(document: Document.Parsed): { key: string; offset: number } | null {
  let found: { key: string; offset: number } | null = null
  visit(document, {
    Map(_, map) {
      const seen = new Set<string>()
      for (const { key } of map.items) {
        if (!isScalar(key)) continue
        const name = String(key.value)
        if (seen.has(name)) {
          found = { key: name.slice(0, 100), offset: key.range?.[0] ?? 0 }
          return visit.BREAK
        }
        seen.add(name)
      }
      return undefined
    },
  })
  return found
}
