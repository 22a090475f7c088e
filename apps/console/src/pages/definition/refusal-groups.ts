import type { AnswerOf } from '@lcm/contract/routes'

type Refusal = AnswerOf<'previewPlacement'>['refusals'][number]
type Category = Refusal['category']

export const CATEGORY_WORDS: Readonly<Record<Category, string>> = {
  status: 'Not serving',
  licence: 'Another licence',
  capacity: 'No room',
  cml_version: 'Another release of CML',
  node_definitions: 'CML lacks node definitions',
  ports: 'Not enough ports',
}

/** Those that most workers have in common first. */
export function byCategory(refusals: readonly Refusal[]): [Category, Refusal[]][] {
  const groups = new Map<Category, Refusal[]>()
  for (const refusal of refusals) groups.set(refusal.category, [...(groups.get(refusal.category) ?? []), refusal])
  return [...groups].toSorted(([, a], [, b]) => b.length - a.length)
}
