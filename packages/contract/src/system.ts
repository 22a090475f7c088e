import { z } from 'zod'
import { ADMINS, EVERYONE, OPERATORS, PEOPLE } from './access.ts'
import { EventEnvelope, EventQuery } from './events.ts'
import { Page } from './lists.ts'
import type { RouteSpec } from './route.ts'
import { AuditList, AuditQuery, CreateToken, Info, LoginLink, NewToken, TokenList } from './token.ts'

export const SYSTEM_ROUTES = {
  listTokens: {
    method: 'GET',
    path: '/tokens',
    summary: 'List tokens, without their secrets',
    access: ADMINS,
    query: Page,
    status: 200,
    answer: TokenList,
    problems: [],
  },
  createToken: {
    method: 'POST',
    path: '/tokens',
    summary: 'Make a token; its secret is shown this once',
    access: ADMINS,
    body: CreateToken,
    status: 201,
    answer: NewToken,
    idempotent: true,
    problems: [],
  },
  deleteToken: {
    method: 'DELETE',
    path: '/tokens/{id}',
    summary: 'Take a token back: nobody gets in with it any more',
    access: ADMINS,
    status: 204,
    answer: null,
    problems: ['not_found'],
  },
  listAudit: {
    method: 'GET',
    path: '/audit',
    summary: 'Read who did what, newest first',
    access: OPERATORS,
    query: AuditQuery,
    status: 200,
    answer: AuditList,
    problems: [],
  },
  events: {
    method: 'GET',
    path: '/events',
    summary: 'Follow every change as server-sent events',
    access: EVERYONE,
    query: EventQuery,
    status: 200,
    answer: EventEnvelope,
    stream: true,
    problems: ['too_many_clients'],
  },
  info: {
    method: 'GET',
    path: '/info',
    summary: 'Read which LCM this is, and who you are to it',
    access: EVERYONE,
    status: 200,
    answer: Info,
    problems: [],
  },
  createLoginLink: {
    method: 'POST',
    path: '/login-links',
    summary: 'Make a one-time link that logs a browser in as you',
    access: PEOPLE,
    status: 201,
    answer: LoginLink,
    problems: [],
  },
  createBackup: {
    method: 'POST',
    path: '/backup',
    summary: 'Download a consistent copy of everything, secrets included',
    access: ADMINS,
    status: 200,
    answer: z.string(),
    file: 'application/vnd.sqlite3',
    problems: ['backup_unavailable'],
  },
} as const satisfies Record<string, RouteSpec>
