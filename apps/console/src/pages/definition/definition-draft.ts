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
  readonly saves: boolean
}

export const EMPTY_DRAFT: DefinitionDraft = {
  name: '',
  title: '',
  from: 'text',
  topology: '',
  source: '',
  minutes: '60',
  reuse: false,
  saves: true,
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
  saves_enabled,
}: Known): DefinitionDraft => ({
  name,
  title: given.title ? title : '',
  from: source === 'inline' ? 'text' : 'address',
  topology: topology ?? '',
  source: source === 'inline' ? '' : source,
  minutes: String(max_duration_minutes),
  reuse: lab_reuse,
  saves: saves_enabled,
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
    saves_enabled: draft.saves,
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
