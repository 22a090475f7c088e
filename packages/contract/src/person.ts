import { PERSON_GROUPS_MAX, PERSON_ROLES, Person, PersonEmail, PersonGroup, PersonName } from '@lcm/domain/person'
import { onOneLine } from '@lcm/domain/text/hidden-characters'
import { z } from 'zod'
import { listOf, Page } from './common-schemas.ts'
import { OPERATORS, type RouteSpec } from './route-spec.ts'
import { LoginLink } from './token.ts'

export const PersonList = listOf(Person).meta({ id: 'PersonList', description: 'A page of people.' })

const fields = {
  name: onOneLine(PersonName).meta({ description: 'The name; need not be unique.', example: 'Jane Doe' }),
  email: onOneLine(PersonEmail)
    .nullable()
    .meta({ description: 'The email address; null for none.', example: 'jane@example.org' }),
  role: z.enum(PERSON_ROLES).meta({ description: 'What the person may do.', example: 'user' }),
  groups: z
    .array(onOneLine(PersonGroup))
    .max(PERSON_GROUPS_MAX)
    .meta({
      description: 'Names of groups, such as classes or departments.',
      example: ['networking-101'],
    }),
}
const { name, email, role, groups } = fields

export const CreatePerson = z
  .strictObject({ name, email: email.default(null), role, groups: groups.default([]) })
  .meta({ id: 'CreatePerson', description: 'A person to create.', example: { name: 'Jane Doe', role: 'user' } })

export const PatchPerson = z
  .strictObject(fields)
  .partial()
  .meta({ id: 'PatchPerson', description: 'Fields to change; others stay.', example: { role: 'author' } })

export const MergePerson = z
  .strictObject({
    into: z.string().min(1).max(300).meta({
      description: 'The id of the person that gets everything.',
      example: 'pe-6m2t8v4w9xy1z',
    }),
  })
  .meta({ id: 'MergePerson', description: 'The person that another one becomes part of.' })

const PERSON_ID = { id: { description: 'The id of the person.', example: 'pe-5k1r2m3n8pq4t' } } as const

export const PERSON_ROUTES = {
  listPeople: {
    method: 'GET',
    path: '/people',
    summary: 'List people',
    description: 'Returns everyone who owns tokens, sign-ins or sessions.',
    access: OPERATORS,
    query: Page,
    status: 200,
    answer: PersonList,
    problems: [],
  },
  createPerson: {
    method: 'POST',
    path: '/people',
    summary: 'Create a person',
    description:
      'Creates a person without a token. Invite the person, or create a token. Only admins create admins and operators.',
    access: OPERATORS,
    body: CreatePerson,
    status: 201,
    answer: Person,
    location: '/people/{id}',
    idempotent: true,
    problems: [],
  },
  getPerson: {
    method: 'GET',
    path: '/people/{id}',
    params: PERSON_ID,
    summary: 'Get a person',
    description: 'Returns one person.',
    access: OPERATORS,
    status: 200,
    answer: Person,
    problems: ['not_found'],
  },
  patchPerson: {
    method: 'PATCH',
    path: '/people/{id}',
    params: PERSON_ID,
    summary: 'Change a person',
    description:
      'Changes name, email, role or groups. A new role applies to all tokens within a second and ends all sign-ins. ' +
      'Only admins change admins and operators.',
    access: OPERATORS,
    body: PatchPerson,
    status: 200,
    answer: Person,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'managed_by_provider', 'person_built_in', 'person_merging'],
  },
  removePerson: {
    method: 'DELETE',
    path: '/people/{id}',
    params: PERSON_ID,
    summary: 'Remove a person',
    description:
      'Removes a person with all tokens and sign-ins, unless sessions of the person are open. Sessions that have ended ' +
      'keep its name. A person of the identity provider comes back with the next sign-in.',
    access: OPERATORS,
    status: 204,
    answer: null,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'person_built_in', 'person_has_sessions', 'person_merging'],
  },
  revokePerson: {
    method: 'POST',
    path: '/people/{id}/revoke',
    params: PERSON_ID,
    summary: 'Revoke all access of a person',
    description:
      'Deletes all tokens of a person and ends all sign-ins and login links within seconds. The person keeps its ' +
      'sessions and can sign in again. The token that LCM starts with is not deleted: replace it and restart LCM.',
    access: OPERATORS,
    status: 200,
    answer: Person,
    idempotent: true,
    problems: ['not_found'],
  },
  invitePerson: {
    method: 'POST',
    path: '/people/{id}/invite',
    params: PERSON_ID,
    summary: 'Invite a person',
    description: 'Creates a one-time link that signs a browser in as this person. Anyone who has the link can use it.',
    access: OPERATORS,
    status: 201,
    answer: LoginLink,
    problems: ['not_found', 'managed_by_provider', 'person_merging'],
  },
  mergePerson: {
    method: 'POST',
    path: '/people/{id}/merge',
    params: PERSON_ID,
    summary: 'Merge a person into another',
    description:
      'Gives all sessions, tokens and bookings of a person to another one and ends its sign-ins. Limits of its quota ' +
      'move too, unless the other person has them. If both have sessions with the same `reservation_id`, that of the ' +
      'other person keeps it. The empty record is removed within minutes. It can be repeated; housekeeping finishes ' +
      'what was interrupted. Returns the other person.',
    access: OPERATORS,
    body: MergePerson,
    status: 200,
    answer: Person,
    idempotent: true,
    problems: ['not_found', 'person_not_found', 'person_built_in', 'person_merging'],
  },
} as const satisfies Record<string, RouteSpec>
