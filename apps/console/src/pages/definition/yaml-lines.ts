import { ApiError } from '@lcm/client/client'

/** Errors of the API by line of the topology. */
export function wrongLines(refusal: unknown): ReadonlyMap<number, string> {
  const errors = refusal instanceof ApiError ? (refusal.problem.errors ?? []) : []
  return new Map(errors.flatMap(({ line, message }) => (line === undefined ? [] : [[line, message]])))
}

/** Range of characters of a line. */
export function rangeOfLine(text: string, line: number): readonly [number, number] {
  let from = 0
  for (let n = 1; n < line; n += 1) {
    const next = text.indexOf('\n', from)
    if (next < 0) break
    from = next + 1
  }
  const end = text.indexOf('\n', from)
  return [from, end < 0 ? text.length : end]
}

export interface GutterPart {
  readonly text: string
  readonly isWrong: boolean
}

/** Line numbers in as few elements as possible: a file may have 60,000 lines. */
export function gutterOf(text: string, wrong: ReadonlySet<number>): GutterPart[] {
  const count = text.split('\n').length
  const parts: GutterPart[] = []
  let pending: string[] = []
  for (let line = 1; line <= count; line += 1) {
    if (!wrong.has(line)) pending.push(`${line}\n`)
    else {
      parts.push({ text: pending.join(''), isWrong: false }, { text: `${line}\n`, isWrong: true })
      pending = []
    }
  }
  return [...parts, { text: pending.join(''), isWrong: false }].filter(part => part.text !== '')
}
