import { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { LabRecord } from '@lcm/domain/lab/lab-record'
import { LabletSession } from '@lcm/domain/session/lablet-session'
import type { z } from 'zod'
import type { Access } from './access.ts'
import {
  AllocatedPorts,
  AllocatePorts,
  AssignSession,
  BindLab,
  DiscoverAnswer,
  DiscoverLabs,
  LARGE_BODY_BYTES_MAX,
  ReportLab,
  ReportSession,
  ResumeWorker,
  SyncResult,
} from './definition.ts'
import type { ProblemCode } from './problems.ts'
import type { RouteSpec } from './route.ts'
import { Reasoned, WorkerView } from './worker-bodies.ts'

const SCHEDULER: Access = { controllersOf: 'resource-scheduler' }
const LABLETS: Access = { controllersOf: 'lablet-controller' }
const ANY_CONTROLLER: Access = { controllersOf: 'any' }

const fenced = <M extends 'PATCH' | 'POST', const P extends string, B extends z.ZodType, A extends z.ZodType>(
  route: { method: M; path: P; summary: string; access: Access; body: B; bodyBytesMax?: number; answer: A },
  problems: readonly ProblemCode[],
) => ({ ...route, status: 200, fenced: true, problems: ['not_found', ...problems] }) as const satisfies RouteSpec

/** Only the controllers of sessions may call these. */
export const LABLET_CONTROLLER_ROUTES = {
  assignSession: fenced(
    {
      method: 'POST',
      path: '/lablet-sessions/{id}/assignment',
      summary: 'Take room on a worker for a session, and say so on both',
      access: SCHEDULER,
      body: AssignSession,
      answer: LabletSession,
    },
    ['illegal_transition', 'no_room'],
  ),
  resumeWorker: fenced(
    {
      method: 'POST',
      path: '/workers/{id}/resume',
      summary: 'Start a worker that a policy stopped, for sessions that wait',
      access: SCHEDULER,
      body: ResumeWorker,
      answer: WorkerView,
    },
    ['worker_held', 'worker_terminating'],
  ),
  reportSession: {
    ...fenced(
      {
        method: 'PATCH',
        path: '/lablet-sessions/{id}/status',
        summary: 'Report what a controller saw or did of a session',
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
      summary: 'Put the lab of a session on record, or claim one for it',
      access: LABLETS,
      body: BindLab,
      answer: LabRecord,
    },
    ['illegal_transition', 'lab_in_use', 'lab_gone'],
  ),
  releaseSession: fenced(
    {
      method: 'POST',
      path: '/lablet-sessions/{id}/release',
      summary: 'Give back the room and the ports of a session whose lab is confirmed stopped',
      access: ANY_CONTROLLER,
      body: Reasoned,
      answer: LabletSession,
    },
    [],
  ),
  allocatePorts: fenced(
    {
      method: 'POST',
      path: '/lab-records/{id}/ports',
      summary: 'Take ports on its worker for a lab; asking again gives the same',
      access: LABLETS,
      body: AllocatePorts,
      answer: AllocatedPorts,
    },
    ['no_room', 'lab_gone'],
  ),
  reportLab: {
    ...fenced(
      {
        method: 'PATCH',
        path: '/lab-records/{id}/status',
        summary: 'Report what the lablet-controller saw or did of a lab',
        access: LABLETS,
        body: ReportLab,
        answer: LabRecord,
      },
      ['version_mismatch', 'already_exists'],
    ),
    ifMatch: 'required',
  },
  discoverLabs: fenced(
    {
      method: 'POST',
      path: '/lab-records/discoveries',
      summary: 'Record all labs that were seen on a worker',
      access: LABLETS,
      body: DiscoverLabs,
      bodyBytesMax: LARGE_BODY_BYTES_MAX,
      answer: DiscoverAnswer,
    },
    ['already_exists'],
  ),
  recordSync: fenced(
    {
      method: 'POST',
      path: '/lablet-definitions/{id}/sync-result',
      summary: 'Record what fetching a topology brought',
      access: LABLETS,
      body: SyncResult,
      bodyBytesMax: LARGE_BODY_BYTES_MAX,
      answer: LabletDefinition,
    },
    ['version_mismatch'],
  ),
} as const satisfies Record<string, RouteSpec>
