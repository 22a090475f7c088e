import { ROLES, SERVICES } from '@lcm/domain/actor'
import { Instant } from '@lcm/domain/instant'
import { onOneLine } from '@lcm/domain/text/hidden-characters'
import { Token } from '@lcm/domain/token'
import { z } from 'zod'
import { listOf, Page } from './common-schemas.ts'
import { ADMINS, PEOPLE, type RouteSpec } from './route-spec.ts'

export const CreateToken = z
  .strictObject({
    name: onOneLine(z.string().min(1).max(64)).meta({ description: 'What it is for.', example: 'ci' }),
    person_id: z
      .string()
      .min(1)
      .max(300)
      .optional()
      .meta({
        description:
          'The id of the person that it belongs to. Without it, a new person with the name and role of the token is ' +
          'created. Refused for role `controller`.',
        example: 'pe-5k1r2m3n8pq4t',
      }),
    role: z.enum(ROLES).meta({ description: 'What its bearer may do.', example: 'operator' }),
    service: z.enum(SERVICES).optional().meta({
      description: 'The service whose controllers use it; required for role `controller`, refused for others.',
    }),
    expires_at: Instant.optional().meta({ description: 'When it stops working; by default never.' }),
  })
  .refine(({ role, service }) => (role === 'controller') === (service !== undefined), {
    message: 'is required for role controller and not allowed for other roles',
    path: ['service'],
  })
  .refine(({ role, person_id }) => role !== 'controller' || person_id === undefined, {
    message: 'is not allowed for role controller',
    path: ['person_id'],
  })
  .meta({
    id: 'CreateToken',
    description: 'A token to create.',
    example: { name: 'ci', role: 'operator' },
    if: { properties: { role: { const: 'controller' } } },
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    then: { required: ['service'], properties: { person_id: false } },
    else: { properties: { service: false } },
  })
export const TokenList = listOf(Token).meta({ id: 'TokenList', description: 'A page of tokens.' })
export const CreatedToken = Token.extend({
  secret: z.string().meta({
    description: 'The secret. Copy it now: it is shown once and stored only as a hash.',
    example: 'lcm_vT3q…',
  }),
}).meta({ id: 'CreatedToken', description: 'A new token with its secret.' })

export const LoginLink = z
  .object({
    url: z.string().meta({ description: 'The path to open in a browser.', example: '/#/sign-in?code=Zk3v…' }),
    expires_in_seconds: z.int().meta({ description: 'How long it works. It works once.', example: 600 }),
  })
  .meta({ id: 'LoginLink', description: 'A one-time login link.' })

export const TOKEN_ROUTES = {
  listTokens: {
    method: 'GET',
    path: '/tokens',
    summary: 'List tokens',
    description: 'Returns the tokens without their secrets.',
    access: ADMINS,
    query: Page,
    status: 200,
    answer: TokenList,
    problems: [],
  },
  createToken: {
    method: 'POST',
    path: '/tokens',
    summary: 'Create a token',
    description:
      'Creates a token for a person. Its secret is returned once. To replace a lost token, create one for the same ' +
      'person and revoke the lost one: sessions belong to the person.',
    access: ADMINS,
    body: CreateToken,
    status: 201,
    answer: CreatedToken,
    idempotent: true,
    problems: ['person_not_found', 'role_too_strong'],
  },
  deleteToken: {
    method: 'DELETE',
    path: '/tokens/{id}',
    params: { id: { description: 'The id of the token, not its secret.', example: 'tk-5k1r2m3n8pq4t' } },
    summary: 'Revoke a token',
    description:
      'Revokes a token and ends all sign-ins of its person. Requests and event streams that use it are refused from ' +
      'then on.',
    access: ADMINS,
    status: 204,
    answer: null,
    problems: ['not_found'],
  },
  createLoginLink: {
    method: 'POST',
    path: '/login-links',
    summary: 'Create a login link',
    description:
      'Creates a one-time link that signs a browser in as the caller. It needs a token; a browser session may not.',
    access: PEOPLE,
    bearerOnly: true,
    status: 201,
    answer: LoginLink,
    problems: ['sign_ins_just_ended'],
  },
} as const satisfies Record<string, RouteSpec>
