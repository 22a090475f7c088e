import { ApiError } from '@lcm/client/client'
import type { AnswerOf, BodyInput } from '@lcm/contract/routes'

/** Content of the form, as text. Empty fields are left to the API. */
export interface DefinitionDraft {
  readonly name: string
  readonly title: string
  readonly from: 'text' | 'address'
  readonly topology: string
  readonly source: string
  readonly minutes: string
  readonly reuse: boolean
}

export const EMPTY_DRAFT: DefinitionDraft = {
  name: '',
  title: '',
  from: 'text',
  topology: '',
  source: '',
  minutes: '60',
  reuse: false,
}

type Known = AnswerOf<'getDefinition'>

/** A title derived from the topology stays empty, so that it is derived from the next topology too. */
export const draftOf = ({
  name,
  title,
  given,
  source,
  topology,
  max_duration_minutes,
  lab_reuse,
}: Known): DefinitionDraft => ({
  name,
  title: given.title ? title : '',
  from: source === 'inline' ? 'text' : 'address',
  topology: topology ?? '',
  source: source === 'inline' ? '' : source,
  minutes: String(max_duration_minutes),
  reuse: lab_reuse,
})

export const isComplete = ({ name, from, topology, source, minutes }: DefinitionDraft): boolean =>
  name !== '' && /^\d+$/.test(minutes) && (from === 'text' ? topology.trim() !== '' : source.trim() !== '')

type Body = BodyInput<'putDefinition'>

/** Only the changed fields: an unchanged topology would be fetched again. */
export function bodyOf(draft: DefinitionDraft, before: Known | null): Body {
  const was = before === null ? null : draftOf(before)
  const title = draft.title.trim()
  return {
    ...(title === was?.title ? {} : { title }),
    max_duration_minutes: Number(draft.minutes),
    lab_reuse: draft.reuse,
    ...(was !== null && isSameLab(draft, was) ? {} : labOf(draft)),
  }
}

const labOf = ({ from, topology, source }: DefinitionDraft): Pick<Body, 'source' | 'topology'> =>
  from === 'text' ? { source: 'inline', topology } : { source: source.trim() }

const isSameLab = (draft: DefinitionDraft, was: DefinitionDraft): boolean =>
  draft.from === was.from &&
  (draft.from === 'text' ? draft.topology === was.topology : draft.source.trim() === was.source)

const NAME_CHARS_MAX = 63

/** Name derived from a file name: `My Lab (2).yaml` becomes `my-lab-2`. */
export const nameFromFile = (file: string): string =>
  file
    .toLowerCase()
    .replace(/\.ya?ml$/, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, NAME_CHARS_MAX)

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
