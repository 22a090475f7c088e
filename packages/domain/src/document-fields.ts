import { z } from 'zod'
import { Instant } from './instant.ts'

/** The fields of every stored document. `exampleId` is for the API documentation. */
export const documentFields = (exampleId: string) => ({
  id: z.string().meta({ description: 'The id, assigned by LCM; never changes.', example: exampleId }),
  version: z.int().positive().meta({
    description: 'Grows by one with every write. Sent as `ETag`, expected in `If-Match`.',
    example: 4,
  }),
  created_at: Instant.meta({ description: 'When it was created.' }),
  updated_at: Instant.meta({ description: 'When it was last written.', example: '2026-01-02T03:09:41.002Z' }),
})
