import { DefinitionName } from '@lcm/domain/definition/lablet-definition'
import { HEALTH_STATUSES } from '@lcm/domain/health'
import { DecisionNote } from '@lcm/domain/journal-records'
import { LabRecord } from '@lcm/domain/lab/lab-record'
import { Reason } from '@lcm/domain/reason'
import { LabletSession, Pipeline, SessionSave, SessionStatus } from '@lcm/domain/session/lablet-session'
import { z } from 'zod'
import { ActionReason, DecisionList, listOf, Page, TimePage } from '../common-schemas.ts'
import type { ProblemCode } from '../problem-codes.ts'
import {
  type Access,
  ANY_CONTROLLER,
  EVERYONE,
  LABLET_CONTROLLER,
  PEOPLE,
  type RouteSpec,
  SCHEDULER,
} from '../route-spec.ts'
import { BookedSessions, CreateSession, CreateSessions } from './booking.ts'

export const SessionList = listOf(LabletSession).meta({ id: 'SessionList', description: 'A page of sessions.' })

/** `owner` fits the longest subject of an identity provider with `oidc:` before it. */
const SessionQuery = Page.extend({
  status: SessionStatus.optional().meta({ description: 'Only sessions with this status.', example: 'RUNNING' }),
  health: z.enum(HEALTH_STATUSES).optional().meta({ description: 'Only sessions with this health.', example: 'DOWN' }),
  worker_id: z.string().max(64).optional().meta({
    description: 'Only sessions on this worker.',
    example: 'w-5k1r2m3n8pq4t',
  }),
  definition: DefinitionName.optional().meta({
    description: 'Only sessions of definitions with this name.',
    example: 'bgp-basics',
  }),
  owner: z.string().max(520).optional().meta({
    description: 'Only sessions of this owner, by id.',
    example: 'oidc:jane',
  }),
  include_finished: z.union([z.boolean(), z.stringbool()]).default(false).meta({
    description: 'Also returns ended sessions.',
  }),
})

export const ExtendSession = z
  .strictObject({
    minutes: z
      .int()
      .min(1)
      .max(24 * 60)
      .meta({ description: 'The minutes to add.', example: 15 }),
  })
  .meta({ id: 'ExtendSession', description: 'An extension.' })

export const SessionChanges = z
  .strictObject({
    status: SessionStatus.exactOptional().meta({ description: 'The observed status.' }),
    pipeline: Pipeline.nullable().exactOptional().meta({ description: 'The progress of the pipeline.' }),
    worker_id: z.null().exactOptional().meta({ description: 'Null removes the session from its worker.' }),
    access: LabletSession.shape.access.exactOptional(),
    conditions: LabletSession.shape.conditions.exactOptional(),
    last_error: z.string().max(1000).nullable().exactOptional().meta({ description: 'The latest error.' }),
    waiting_reason: Reason.nullable().exactOptional().meta({ description: 'Why it is not placed yet.' }),
    save: SessionSave.exactOptional().meta({ description: 'The state of saving its work.' }),
  })
  .meta({ id: 'SessionChanges', description: 'Changed fields; omitted fields stay as they are.' })

const decision = DecisionNote.meta({ description: 'The decision behind the write.' })
export const ReportSession = z
  .strictObject({
    changes: SessionChanges.meta({
      description: 'Changed fields; omitted fields stay as they are.',
      example: { status: 'RUNNING' },
    }),
    decision,
  })
  .meta({ id: 'ReportSession', description: 'What a controller observed or did.' })

export const AssignSession = z
  .strictObject({
    worker_id: z.string().min(1).max(64).meta({
      description: 'The worker. Its capacity is reserved by compare-and-set.',
      example: 'w-5k1r2m3n8pq4t',
    }),
    decision,
  })
  .meta({ id: 'AssignSession', description: 'A placement.' })

export const BindLab = z
  .strictObject({
    lab_id: z.string().max(64).nullable().meta({
      description: 'The CML lab id; null before the import, so that the lab is on record before it exists.',
      example: null,
    }),
    title: z.string().max(64).meta({ description: 'The title in CML.', example: 'BGP basics ls-5k1r2m3n8pq4t' }),
    record_id: z.string().max(64).nullable().default(null).meta({
      description: 'The free lab record to reuse; null to create one.',
    }),
  })
  .meta({ id: 'BindLab', description: 'The lab of a session. A repeated request returns the same record.' })

const SESSION_ID = { id: { description: 'The id of the session.', example: 'ls-5k1r2m3n8pq4t' } } as const

interface SessionAction<B extends z.ZodType> {
  readonly summary: string
  readonly description: string
  readonly body: B
  readonly problems: readonly ProblemCode[]
}

const action = <B extends z.ZodType>(verb: string, { problems, ...route }: SessionAction<B>) =>
  ({
    method: 'POST',
    path: `/lablet-sessions/{id}/${verb}`,
    params: SESSION_ID,
    ...route,
    access: PEOPLE,
    status: 202,
    answer: LabletSession,
    ifMatch: 'optional',
    idempotent: true,
    problems: ['not_found', 'version_mismatch', ...problems],
  }) as const satisfies RouteSpec

/** Callers see and modify their own sessions; admins and operators those of all owners. */
export const SESSION_ROUTES = {
  listSessions: {
    method: 'GET',
    path: '/lablet-sessions',
    summary: 'List sessions',
    description:
      'Returns the sessions of the caller. Admins, operators and controllers get the sessions of all owners.',
    access: EVERYONE,
    query: SessionQuery,
    status: 200,
    answer: SessionList,
    problems: [],
  },
  listMySessions: {
    method: 'GET',
    path: '/lablet-sessions/mine',
    summary: 'List your own sessions',
    description: 'Returns the sessions of the caller, whatever its role.',
    access: EVERYONE,
    query: Page,
    status: 200,
    answer: SessionList,
    problems: [],
  },
  createSession: {
    method: 'POST',
    path: '/lablet-sessions',
    summary: 'Book a session',
    description:
      'Books a lab for a timeslot. The calendar promises its capacity or refuses it; the scheduler places it, and the ' +
      'lablet-controller starts its lab.',
    access: PEOPLE,
    body: CreateSession,
    status: 201,
    answer: LabletSession,
    location: '/lablet-sessions/{id}',
    idempotent: true,
    problems: [
      'definition_not_found',
      'definition_not_active',
      'save_not_found',
      'timeslot_invalid',
      'already_exists',
      'quota_exceeded',
      'no_capacity_at_that_time',
    ],
  },
  createSessions: {
    method: 'POST',
    path: '/lablet-sessions/batch',
    summary: 'Book several sessions',
    description: 'Books the same lab for several seats at the same time: all of them or none.',
    access: PEOPLE,
    body: CreateSessions,
    status: 201,
    answer: BookedSessions,
    idempotent: true,
    problems: [
      'definition_not_found',
      'definition_not_active',
      'timeslot_invalid',
      'quota_exceeded',
      'no_capacity_at_that_time',
    ],
  },
  getSession: {
    method: 'GET',
    path: '/lablet-sessions/{id}',
    params: SESSION_ID,
    summary: 'Get a session',
    description: 'Returns one session.',
    access: EVERYONE,
    status: 200,
    answer: LabletSession,
    problems: ['not_found'],
  },
  cancelSession: {
    method: 'DELETE',
    path: '/lablet-sessions/{id}',
    params: SESSION_ID,
    summary: 'Cancel a session',
    description: 'Ends a session. Its lab is torn down first.',
    access: PEOPLE,
    status: 202,
    answer: LabletSession,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch'],
  },
  extendSession: action('extend', {
    summary: 'Extend a session',
    description:
      'Moves the end of a session, up to the longest duration of its definition, unless the capacity is promised to others.',
    body: ExtendSession,
    problems: ['session_over', 'timeslot_invalid', 'quota_exceeded', 'no_capacity_at_that_time'],
  }),
  requeueSession: action('requeue', {
    summary: 'Requeue a session',
    description: 'Removes a session from its worker, so that the scheduler places it again.',
    body: ActionReason,
    problems: ['session_wrong_state'],
  }),
  moveSession: action('move', {
    summary: 'Move a session to another worker',
    description:
      'Starts the lab again on another worker for the rest of the timeslot, from its last save if there is one, and ' +
      'deletes the old lab. While CML answers, the work in the lab is saved first: the session keeps its status and has ' +
      '`move` for a minute at most. Operators may move any session that is placed; owners may move their own ' +
      'while its health is not OK. The session waits first in line if no worker has capacity.',
    body: ActionReason,
    problems: ['session_wrong_state'],
  }),
  retrySession: action('retry', {
    summary: 'Retry the lab of a session',
    description: 'Starts the pipeline of a failed session again.',
    body: ActionReason,
    problems: ['session_wrong_state'],
  }),
  getSessionDecisions: {
    method: 'GET',
    path: '/lablet-sessions/{id}/decisions',
    params: SESSION_ID,
    summary: 'List decisions about a session',
    description: 'Returns what controllers decided about the session and why, newest first.',
    access: EVERYONE,
    query: TimePage,
    status: 200,
    answer: DecisionList,
    problems: ['not_found'],
  },
} as const satisfies Record<string, RouteSpec>

const fenced = <M extends 'PATCH' | 'POST', const P extends string, B extends z.ZodType, A extends z.ZodType>(
  route: { method: M; path: P; summary: string; description: string; access: Access; body: B; answer: A },
  problems: readonly ProblemCode[],
) =>
  ({
    ...route,
    params: SESSION_ID,
    status: 200,
    fenced: true,
    problems: ['not_found', ...problems],
  }) as const satisfies RouteSpec

/** Routes that only controllers may call. */
export const SESSION_CONTROLLER_ROUTES = {
  assignSession: fenced(
    {
      method: 'POST',
      path: '/lablet-sessions/{id}/assignment',
      summary: 'Place a session',
      description: 'Reserves capacity on a worker and records the placement on both.',
      access: SCHEDULER,
      body: AssignSession,
      answer: LabletSession,
    },
    ['illegal_transition', 'no_capacity'],
  ),
  reportSession: {
    ...fenced(
      {
        method: 'PATCH',
        path: '/lablet-sessions/{id}/status',
        summary: 'Report the status of a session',
        description: 'Stores what a controller observed or did.',
        access: ANY_CONTROLLER,
        body: ReportSession,
        answer: LabletSession,
      },
      ['illegal_transition', 'version_mismatch'],
    ),
    ifMatch: 'required',
  },
  bindLab: fenced(
    {
      method: 'POST',
      path: '/lablet-sessions/{id}/lab',
      summary: 'Bind a lab to a session',
      description: 'Creates the lab record of a session, or claims an existing one for reuse.',
      access: LABLET_CONTROLLER,
      body: BindLab,
      answer: LabRecord,
    },
    ['illegal_transition', 'lab_in_use', 'lab_gone'],
  ),
  releaseSession: fenced(
    {
      method: 'POST',
      path: '/lablet-sessions/{id}/release',
      summary: 'Release the capacity of a session',
      description: 'Returns the capacity and the ports of a session whose lab is confirmed stopped.',
      access: ANY_CONTROLLER,
      body: ActionReason,
      answer: LabletSession,
    },
    [],
  ),
} as const satisfies Record<string, RouteSpec>
