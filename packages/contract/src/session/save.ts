import { DefinitionName } from '@lcm/domain/definition/lablet-definition'
import { Instant } from '@lcm/domain/instant'
import { Save, SaveCause, SavedNodes } from '@lcm/domain/save/save'
import { LabletSession } from '@lcm/domain/session/lablet-session'
import { z } from 'zod'
import { ActionReason, listOf, Page } from '../common-schemas.ts'
import { LabTopology } from '../lab.ts'
import { EVERYONE, LABLET_CONTROLLER, PEOPLE, PEOPLE_AND_LABLET_CONTROLLER, type RouteSpec } from '../route-spec.ts'

/** Fits the largest save as base64, with its nodes. */
const SAVE_BODY_BYTES_MAX = 8 * 1024 * 1024

/** A lab without nodes, compressed. */
const GZIP_EXAMPLE =
  'H4sIAAAAAAAAA8tJTLLiUlAoySzJSbVS8MwrSS3KL1Bwcg/gUlAoSy0qzszPs1Iw0DPSM+LKy09JLbZSiI7lysnMy4awAHXmi5A/AAAA'

export const SaveList = listOf(Save).meta({ id: 'SaveList', description: 'A page of saves.' })

const SaveQuery = Page.extend({
  session_id: z.string().max(64).optional().meta({
    description: 'Only saves of this session.',
    example: 'ls-5k1r2m3n8pq4t',
  }),
  definition: DefinitionName.optional().meta({
    description: 'Only saves of definitions with this name.',
    example: 'bgp-basics',
  }),
  owner: z.string().max(520).optional().meta({
    description: 'Only saves of this owner, by id.',
    example: 'oidc:jane',
  }),
})

export const StoreSave = z
  .strictObject({
    cause: SaveCause,
    began_at: Instant.meta({
      description: 'When the attempt began. It serves every request up to then.',
      example: '2026-01-02T03:04:05.678Z',
    }),
    topology: z.string().min(1).max(SAVE_BODY_BYTES_MAX).meta({
      description: 'The CML topology with the configurations of its nodes: YAML, compressed with gzip, as base64.',
      example: GZIP_EXAMPLE,
    }),
    nodes: SavedNodes.meta({ description: 'The nodes, and which of them were skipped.' }),
  })
  .meta({ id: 'StoreSave', description: 'The work of a session.' })

const SAVE_ID = { id: { description: 'The id of the save.', example: 'sv-5k1r2m3n8pq4t' } } as const
const SESSION_ID = { id: { description: 'The id of the session.', example: 'ls-5k1r2m3n8pq4t' } } as const

/** Callers see their own saves; admins and operators those of all owners. */
export const SAVE_ROUTES = {
  saveSession: {
    method: 'POST',
    path: '/lablet-sessions/{id}/save',
    params: SESSION_ID,
    summary: 'Save the work of a session',
    description: 'Requests a save of the lab. The lablet-controller makes it within a minute; the lab keeps running.',
    access: PEOPLE,
    body: ActionReason,
    status: 202,
    answer: LabletSession,
    ifMatch: 'optional',
    idempotent: true,
    problems: ['not_found', 'version_mismatch', 'session_over', 'session_wrong_state', 'saves_disabled'],
  },
  listSaves: {
    method: 'GET',
    path: '/saves',
    summary: 'List saves',
    description: 'Returns the saves of the caller. Admins, operators and controllers get the saves of all owners.',
    access: EVERYONE,
    query: SaveQuery,
    status: 200,
    answer: SaveList,
    problems: [],
  },
  getSave: {
    method: 'GET',
    path: '/saves/{id}',
    params: SAVE_ID,
    summary: 'Get a save',
    description: 'Returns one save without its content.',
    access: EVERYONE,
    status: 200,
    answer: Save,
    problems: ['not_found'],
  },
  getSaveTopology: {
    method: 'GET',
    path: '/saves/{id}/topology',
    params: SAVE_ID,
    summary: 'Get the content of a save',
    description:
      'Returns the saved topology with the configurations of its nodes. It may hold passwords that the owner set, so ' +
      'reads by others are in the audit log.',
    access: PEOPLE_AND_LABLET_CONTROLLER,
    status: 200,
    answer: LabTopology,
    problems: ['not_found', 'save_unreadable', 'secret_key_missing'],
  },
  deleteSave: {
    method: 'DELETE',
    path: '/saves/{id}',
    params: SAVE_ID,
    summary: 'Delete a save',
    description: 'Deletes a save and its content permanently.',
    access: PEOPLE,
    status: 204,
    answer: null,
    ifMatch: 'optional',
    problems: ['not_found', 'version_mismatch', 'save_in_use'],
  },
} as const satisfies Record<string, RouteSpec>

/** Routes that only the lablet-controller may call. */
export const SAVE_CONTROLLER_ROUTES = {
  storeSave: {
    method: 'POST',
    path: '/lablet-sessions/{id}/saves',
    params: SESSION_ID,
    summary: 'Store the work of a session',
    description:
      'Stores a save and records the attempt in the session. Content that equals the newest save is not stored again: ' +
      'the response is that save.',
    access: LABLET_CONTROLLER,
    body: StoreSave,
    bodyBytesMax: SAVE_BODY_BYTES_MAX,
    status: 200,
    answer: Save,
    fenced: true,
    problems: ['not_found', 'session_over', 'saves_disabled', 'save_too_large'],
  },
} as const satisfies Record<string, RouteSpec>
