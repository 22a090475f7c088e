import { z } from 'zod'
import type { Role } from './actor.ts'
import { documentFields } from './document-fields.ts'
import { Instant } from './instant.ts'

/** Strongest first. Controllers are no people. */
export const PERSON_ROLES = ['admin', 'operator', 'author', 'user'] as const
export type PersonRole = (typeof PERSON_ROLES)[number]

/** `provider`: signed in through the identity provider, which manages name, email, role and groups. */
export const PERSON_SOURCES = ['operator', 'token', 'provider', 'built-in'] as const

export const PERSON_GROUPS_MAX = 100
/** Fits the longest subject of an identity provider, which is the name of a person without another. */
export const PersonName = z.string().min(1).max(255).meta({ id: 'PersonName', description: 'The name of a person.' })
export const PersonEmail = z
  .string()
  .max(254)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses.
  .regex(/^[^\s@\u0000-\u001f\u007f]+@[^\s@\u0000-\u001f\u007f]+$/, 'an email address')
  .meta({ id: 'PersonEmail', description: 'An email address.' })
export const PersonGroup = z.string().min(1).max(128).meta({ id: 'PersonGroup', description: 'The name of a group.' })
export const PersonGroups = z
  .array(PersonGroup)
  .max(PERSON_GROUPS_MAX)
  .meta({ id: 'PersonGroups', description: 'Names of groups, such as classes or departments.' })

/** Sessions, tokens and sign-ins belong to a person and refer to it by id. */
export const Person = z
  .object({
    ...documentFields('pe-5k1r2m3n8pq4t'),
    name: PersonName.meta({ description: 'The name; need not be unique.', example: 'Jane Doe' }),
    email: PersonEmail.nullable().meta({ description: 'The email address; null if unknown.', example: null }),
    role: z.enum(PERSON_ROLES).meta({ description: 'What the person may do.', example: 'user' }),
    groups: PersonGroups.meta({ example: ['networking-101'] }),
    source: z.enum(PERSON_SOURCES).meta({
      description:
        '`operator`: created by an operator; `token`: created together with a token; `provider`: by the identity ' +
        'provider, which manages name, email, role and groups; `built-in`: the owner of the first token.',
    }),
    signed_out_at: Instant.nullable().meta({
      description: 'When all sign-ins of the person were last ended; null for never.',
      example: null,
    }),
    merging_into: z.string().nullable().meta({
      description: 'The id of the person that gets everything of this one, which is then removed; null for none.',
      example: null,
    }),
  })
  .meta({ id: 'Person', description: 'A person: the owner of sessions, tokens and sign-ins.' })
export type Person = z.infer<typeof Person>

/** The person that a token got when people were introduced. Its id is that of the actor before. */
export const personIdOfToken = (tokenId: string): string => `token:${tokenId}`
export const providerPersonId = (subject: string): string => `oidc:${subject}`

/** Permits only what both roles permit: an operator may not edit definitions, and an author may not run the fleet. */
export function commonRole(one: PersonRole, other: PersonRole): PersonRole {
  if (one === other || other === 'admin') return one
  return one === 'admin' ? other : 'user'
}

/** Operators manage authors and users, admins everyone. `roles` are those before and after a change. */
export const mayManage = (actor: { readonly role: Role }, roles: readonly PersonRole[]): boolean =>
  actor.role === 'admin' || (actor.role === 'operator' && roles.every(role => role === 'author' || role === 'user'))

export type PersonPatch = { readonly [F in 'name' | 'email' | 'role' | 'groups']?: Person[F] | undefined }

/** Why the fields of a person can't be changed here; null if they can. The built-in admin stays an admin: it is the last way in. */
export function refusalOfPatch(
  { source }: Pick<Person, 'source'>,
  patch: PersonPatch,
): 'managed_by_provider' | 'person_built_in' | null {
  if (source === 'provider') return 'managed_by_provider'
  const isIdentity = patch.name !== undefined || patch.role !== undefined
  return source === 'built-in' && isIdentity ? 'person_built_in' : null
}

/** What an identity provider says about a person. */
export type ProviderProfile = Pick<Person, 'name' | 'email' | 'role' | 'groups'>

/** The record after the provider described it so at `since`; the same object if nothing changed, or if it is older than the record. */
export function afterSignIn(person: Person, { name, email, role, groups }: ProviderProfile, since: Instant): Person {
  const { source } = person
  if (since < person.updated_at) return person
  const known = JSON.stringify([person.name, person.email, person.role, person.groups, source])
  if (known === JSON.stringify([name, email, role, groups, 'provider'])) return person
  return { ...person, name, email, role, groups, source: 'provider' }
}

/** A person that signed in to the provider before this instant must sign in again. */
export const isSignedOut = ({ signed_out_at }: Pick<Person, 'signed_out_at'>, since: Instant): boolean =>
  signed_out_at !== null && since < signed_out_at
