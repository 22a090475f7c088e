import { z } from 'zod'
import { ROLES, SERVICES } from './actor.ts'
import { documentFields } from './document-fields.ts'
import { Instant } from './instant.ts'

/** A key to the API, without its secret: that is shown once and stored only as a hash. */
export const Token = z
  .object({
    ...documentFields('tk-5k1r2m3n8pq4t'),
    name: z.string().meta({ description: 'What it is for.', example: 'ci' }),
    person_id: z
      .string()
      .nullable()
      .meta({ description: 'The id of its person; null for controllers.', example: 'pe-5k1r2m3n8pq4t' }),
    role: z.enum(ROLES).meta({
      description: 'What its bearer may do at most. The role of its person limits it too.',
      example: 'operator',
    }),
    service: z
      .enum(SERVICES)
      .nullable()
      .meta({ description: 'The service whose controllers use it; null for people.', example: null }),
    expires_at: Instant.nullable().meta({ description: 'When it stops working; null for never.', example: null }),
  })
  .meta({ id: 'Token', description: 'An API token without its secret.' })
export type Token = z.infer<typeof Token>
