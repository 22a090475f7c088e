import { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { LabRecord } from '@lcm/domain/lab/lab-record'
import { LabletSession } from '@lcm/domain/session/lablet-session'
import type { z } from 'zod'
import { type Access, EVERYONE, OPERATORS, PEOPLE } from './access.ts'
import {
  CreateDefinition,
  CreateSession,
  DefinitionList,
  DefinitionQuery,
  DefinitionWithGraph,
  ExtendSession,
  LARGE_BODY_BYTES_MAX,
  LabList,
  LabQuery,
  LabTopology,
  PlacementPreview,
  PutDefinition,
  SessionList,
  SessionQuery,
} from './definition.ts'
import { Page, TimePage } from './lists.ts'
import type { ProblemCode } from './problems.ts'
import type { RouteSpec } from './route.ts'
import { DecisionList, Reasoned } from './worker-bodies.ts'

const AUTHORS: Access = { roles: ['admin', 'author'] }

const onDefinition = <B extends z.ZodType>(verb: string, summary: string, body: B, problems: readonly ProblemCode[]) =>
  ({
    method: 'POST',
    path: `/lablet-definitions/{id}/${verb}`,
    summary,
    access: AUTHORS,
    body,
    status: 202,
    answer: LabletDefinition,
    ifMatch: 'optional',
    idempotent: true,
    problems: ['not_found', 'version_mismatch', ...problems],
  }) as const satisfies RouteSpec

/** What can be booked. */
export const DEFINITION_ROUTES = {
  listDefinitions: {
    method: 'GET',
    path: '/lablet-definitions',
    summary: 'List definitions of labs, without their topologies',
    access: EVERYONE,
    query: DefinitionQuery,
    status: 200,
    answer: DefinitionList,
    problems: [],
  },
  createDefinition: {
    method: 'POST',
    path: '/lablet-definitions',
    summary: 'Define a lab; an inline topology is judged at once',
    access: AUTHORS,
    body: CreateDefinition,
    bodyBytesMax: LARGE_BODY_BYTES_MAX,
    status: 201,
    answer: LabletDefinition,
    location: '/lablet-definitions/{id}',
    idempotent: true,
    problems: ['already_exists', 'topology_invalid', 'port_node_unknown'],
  },
  getDefinition: {
    method: 'GET',
    path: '/lablet-definitions/{id}',
    summary: 'Read one definition with its topology, as text and as a graph',
    access: EVERYONE,
    status: 200,
    answer: DefinitionWithGraph,
    problems: ['not_found'],
  },
  putDefinition: {
    method: 'PUT',
    path: '/lablet-definitions/{id}',
    summary: 'Say a definition anew; of one that is ACTIVE this makes the next version',
    access: AUTHORS,
    body: PutDefinition,
    bodyBytesMax: LARGE_BODY_BYTES_MAX,
    status: 200,
    answer: LabletDefinition,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'topology_invalid', 'port_node_unknown', 'definition_deprecated'],
  },
  deleteDefinition: {
    method: 'DELETE',
    path: '/lablet-definitions/{id}',
    summary: 'Remove a definition that no session needs any more',
    access: AUTHORS,
    status: 204,
    answer: null,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'definition_in_use'],
  },
  syncDefinition: onDefinition('sync', 'Fetch the topology from its source again', Reasoned, [
    'source_inline',
    'definition_deprecated',
  ]),
  deprecateDefinition: onDefinition(
    'deprecate',
    'Take a definition out of use; sessions that have it go on',
    Reasoned,
    [],
  ),
  previewPlacement: {
    method: 'POST',
    path: '/lablet-definitions/{id}/placement-preview',
    summary: 'See where a session of it would be placed now, and why not elsewhere',
    access: EVERYONE,
    status: 200,
    answer: PlacementPreview,
    problems: ['not_found'],
  },
} as const satisfies Record<string, RouteSpec>

const onSession = <B extends z.ZodType>(verb: string, summary: string, body: B, problems: readonly ProblemCode[]) =>
  ({
    method: 'POST',
    path: `/lablet-sessions/{id}/${verb}`,
    summary,
    access: PEOPLE,
    body,
    status: 202,
    answer: LabletSession,
    ifMatch: 'optional',
    idempotent: true,
    problems: ['not_found', 'version_mismatch', ...problems],
  }) as const satisfies RouteSpec

/** People see and touch their own; who runs the fleet, everybody's. */
export const SESSION_ROUTES = {
  listSessions: {
    method: 'GET',
    path: '/lablet-sessions',
    summary: 'List sessions, your own unless you run the fleet',
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
    access: EVERYONE,
    query: Page,
    status: 200,
    answer: SessionList,
    problems: [],
  },
  createSession: {
    method: 'POST',
    path: '/lablet-sessions',
    summary: 'Book a lab',
    access: PEOPLE,
    body: CreateSession,
    status: 201,
    answer: LabletSession,
    location: '/lablet-sessions/{id}',
    idempotent: true,
    problems: ['definition_not_found', 'definition_not_active', 'timeslot_invalid', 'already_exists'],
  },
  getSession: {
    method: 'GET',
    path: '/lablet-sessions/{id}',
    summary: 'Read one session',
    access: EVERYONE,
    status: 200,
    answer: LabletSession,
    problems: ['not_found'],
  },
  cancelSession: {
    method: 'DELETE',
    path: '/lablet-sessions/{id}',
    summary: 'Cancel a session; its lab is taken down first',
    access: PEOPLE,
    status: 202,
    answer: LabletSession,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch'],
  },
  extendSession: onSession('extend', 'Let it last longer', ExtendSession, ['session_over', 'timeslot_invalid']),
  requeueSession: onSession('requeue', 'Have it placed anew', Reasoned, ['session_wrong_state']),
  retrySession: onSession('retry', 'Start its lab anew', Reasoned, ['session_wrong_state']),
  getSessionDecisions: {
    method: 'GET',
    path: '/lablet-sessions/{id}/decisions',
    summary: 'Read what controllers decided about the session and why, newest first',
    access: EVERYONE,
    query: TimePage,
    status: 200,
    answer: DecisionList,
    problems: ['not_found'],
  },
} as const satisfies Record<string, RouteSpec>

const onLab = (verb: string, summary: string) =>
  ({
    method: 'POST',
    path: `/lab-records/{id}/${verb}`,
    summary,
    access: OPERATORS,
    body: Reasoned,
    status: 202,
    answer: LabRecord,
    ifMatch: 'optional',
    idempotent: true,
    problems: ['not_found', 'version_mismatch', 'lab_in_use', 'lab_gone'],
  }) as const satisfies RouteSpec

export const LAB_ROUTES = {
  listLabs: {
    method: 'GET',
    path: '/lab-records',
    summary: 'List labs on workers, ours and anybody’s',
    access: EVERYONE,
    query: LabQuery,
    status: 200,
    answer: LabList,
    problems: [],
  },
  getLab: {
    method: 'GET',
    path: '/lab-records/{id}',
    summary: 'Read one lab',
    access: EVERYONE,
    status: 200,
    answer: LabRecord,
    problems: ['not_found'],
  },
  getLabTopology: {
    method: 'GET',
    path: '/lab-records/{id}/topology',
    summary: 'Read the topology that a lab was made from',
    access: EVERYONE,
    status: 200,
    answer: LabTopology,
    problems: ['not_found'],
  },
  startLab: onLab('start', 'Have a lab started'),
  stopLab: onLab('stop', 'Have a lab stopped'),
  wipeLab: onLab('wipe', 'Have a lab wiped; it must be stopped'),
  deleteLab: onLab('delete', 'Have a lab stopped, wiped and removed'),
} as const satisfies Record<string, RouteSpec>
