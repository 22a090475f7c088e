/** Characters that a terminal obeys and JSON leaves as they are. Both formats write them as escapes, which stay the same data. */
const RAW = /(?![\u200c\u200d])[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0')

/** JSON with pairs of escapes for characters outside the basic plane. */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(RAW, character =>
    Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at), 4)}`).join(''),
  )

/** Only text in double quotes may hold escapes, so text that needs one is quoted. */
export async function toYaml(value: unknown): Promise<string> {
  const { Document, visit } = await import('yaml')
  const document = new Document(value)
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && node.value.search(RAW) !== -1) node.type = 'QUOTE_DOUBLE'
    },
  })
  return document
    .toString()
    .trimEnd()
    .replaceAll(RAW, character => {
      const code = character.codePointAt(0) ?? 0
      return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`
    })
}
