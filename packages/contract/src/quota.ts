import { ROLES } from '@lcm/domain/actor'
import { Instant } from '@lcm/domain/instant'
import { GivenLimits, QuotaLimits, QuotaPatch } from '@lcm/domain/quota/quota'
import { z } from 'zod'
import { listOf, Page } from './common-schemas.ts'
import { OPERATORS, PEOPLE, type RouteSpec } from './route-spec.ts'

const usage = z.object({
  live_sessions: z.int().meta({ description: 'Open sessions whose timeslot has started.', example: 1 }),
  future_sessions: z.int().meta({ description: 'Booked sessions whose timeslot has not started.', example: 3 }),
  core_hours_this_week: z.number().meta({
    description: 'CPU cores multiplied by booked hours, since Monday 00:00 UTC.',
    example: 96,
  }),
})

export const QuotaView = z
  .object({
    id: z.string().meta({ description: 'The id of the person: the `owner` of the sessions.', example: 'oidc:jane' }),
    version: z.int().meta({ description: 'Grows by one with every write; 0 before the first booking.', example: 4 }),
    name: z.string().meta({ description: 'The name of the person; empty before the first sign-in.', example: 'Jane' }),
    role: z
      .enum(ROLES)
      .meta({ description: 'The role of the person; `user` before the first sign-in.', example: 'user' }),
    limits: QuotaLimits.meta({ description: 'The limits that apply.' }),
    given: GivenLimits.meta({
      description: 'The limits that an operator set for this person. The others come from the role.',
      example: { live_sessions: 5 },
    }),
    used: usage.meta({ description: 'What the sessions of the person use.' }),
    updated_at: Instant.nullable().meta({ description: 'When it was last written; null before the first booking.' }),
  })
  .meta({ id: 'Quota', description: 'How much a person may book, and how much of it is used.' })
export type QuotaView = z.infer<typeof QuotaView>

export const QuotaList = listOf(QuotaView).meta({ id: 'QuotaList', description: 'A page of quotas.' })

const OWNER = { owner: { description: 'The id of the person.', example: 'oidc:jane' } } as const

export const QUOTA_ROUTES = {
  listQuotas: {
    method: 'GET',
    path: '/quotas',
    summary: 'List quotas',
    description:
      'Returns the quota of the caller. Admins and operators get the quotas of everyone who has booked under a limit.',
    access: PEOPLE,
    query: Page,
    status: 200,
    answer: QuotaList,
    problems: [],
  },
  getQuota: {
    method: 'GET',
    path: '/quotas/{owner}',
    params: OWNER,
    summary: 'Get the quota of a person',
    description: 'Returns the limits of a person and how much of them is used. People see only their own.',
    access: PEOPLE,
    status: 200,
    answer: QuotaView,
    problems: ['not_found'],
  },
  patchQuota: {
    method: 'PATCH',
    path: '/quotas/{owner}',
    params: OWNER,
    summary: 'Change the quota of a person',
    description: 'Sets limits for one person, instead of those of the role. Null resets a limit to that of the role.',
    access: OPERATORS,
    body: QuotaPatch,
    status: 200,
    answer: QuotaView,
    ifMatch: 'optional',
    problems: ['version_mismatch'],
  },
} as const satisfies Record<string, RouteSpec>
