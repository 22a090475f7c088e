import type { Actor } from '@lcm/domain/actor'
import { mayManage, PERSON_ROLES, type Person, type PersonRole } from '@lcm/domain/person'

export const PERSON_ACTIONS = ['invite', 'edit', 'revoke', 'remove'] as const
export type PersonAction = (typeof PERSON_ACTIONS)[number]

/** Why the user can't do this with the person; null if the API accepts it. */
export function refusalOf(action: PersonAction, person: Person, actor: Pick<Actor, 'id' | 'role'>): string | null {
  const { role, source, merging_into } = person
  if (!mayManage(actor, [role])) return 'Only administrators manage administrators and operators'
  if (merging_into !== null && action !== 'revoke') return 'Is being merged into another person'
  if (person.id === actor.id && action === 'invite') return 'A link for yourself needs your token: lcm open'
  if (source === 'provider' && action === 'invite') return 'Signs in with the identity provider'
  if (source === 'provider' && action === 'edit') return 'Managed by the identity provider'
  const isLastWayIn = source === 'built-in' && (action === 'edit' || action === 'remove')
  return isLastWayIn ? 'Owns the administrator token, which is the last way in' : null
}

/** Roles that the user may give. */
export const rolesFor = (actor: Pick<Actor, 'role'>): PersonRole[] =>
  PERSON_ROLES.filter(role => mayManage(actor, [role]))

export const groupsIn = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map(group => group.trim())
      .filter(group => group !== ''),
  ),
]

const textOf = ({ id, name, email, role, groups }: Person): string =>
  [id, name, email ?? '', role, ...groups].join('\n').toLowerCase()

/** By name; those that contain every word of the search. */
export function matching(people: readonly Person[], search: string): Person[] {
  const words = search.toLowerCase().split(/\s+/)
  return people
    .filter(person => words.every(word => textOf(person).includes(word)))
    .toSorted((a, b) => a.name.localeCompare(b.name) || a.id.localeCompare(b.id))
}
