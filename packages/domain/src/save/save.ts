import { z } from 'zod'
import { documentFields } from '../document-fields.ts'
import { Instant } from '../instant.ts'
import { Reason } from '../reason.ts'
import { LabletSession } from '../session/lablet-session.ts'

const MIB = 1024 * 1024
/** A compressed topology with the configurations of its nodes. */
export const SAVE_BYTES_MAX = 4 * MIB
/** The same before it was compressed, so that a small request can't fill the memory. */
export const SAVED_TOPOLOGY_BYTES_MAX = 16 * MIB

export const SAVE_CAUSES = ['interval', 'request', 'end'] as const
export const SaveCause = z
  .enum(SAVE_CAUSES)
  .meta({ description: 'Why it was made: at an interval, on request, or at the end of the session.' })
export type SaveCause = z.infer<typeof SaveCause>

export const SavedNode = z
  .object({
    label: z.string().max(128).meta({ description: 'The label of the node.', example: 'r1' }),
    outcome: z.enum(['saved', 'skipped']).meta({
      description: 'Whether the save has the configuration that the node had then.',
      example: 'saved',
    }),
    reason: Reason.nullable().meta({ description: 'Why it was skipped; null if it was saved.', example: null }),
  })
  .meta({ id: 'SavedNode', description: 'One node of a saved lab.' })
export type SavedNode = z.infer<typeof SavedNode>
export const SavedNodes = z.array(SavedNode).max(500)

/** The work of a session at one time. It stands alone: it may outlive its session. */
export const Save = z
  .object({
    ...documentFields('sv-5k1r2m3n8pq4t'),
    session_id: z.string().meta({ description: 'The session that was saved.', example: 'ls-5k1r2m3n8pq4t' }),
    number: z.int().positive().meta({ description: 'Counts the saves of the session.', example: 3 }),
    owner: LabletSession.shape.owner,
    owner_name: z.string().meta({ description: 'The name of the owner when it was made.', example: 'Jane' }),
    definition: LabletSession.shape.definition,
    cause: SaveCause,
    size_bytes: z.int().nonnegative().meta({ description: 'The compressed size.', example: 18_432 }),
    content_sha256: z.string().meta({
      description: 'The digest of the topology. Equal content is saved once.',
      example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    }),
    nodes: SavedNodes.meta({ description: 'The nodes, and which of them were skipped.' }),
    is_final: z.boolean().meta({ description: 'Whether it has the work at the end of the session.' }),
    session_ended_at: Instant.nullable().meta({
      description: 'When its session ended; null while it is open. The retention counts from here.',
      example: null,
    }),
  })
  .meta({ id: 'Save', description: 'Saved work of a session, without its content.' })
export type Save = z.infer<typeof Save>
