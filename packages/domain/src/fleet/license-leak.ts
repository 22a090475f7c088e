import { z } from 'zod'
import { documentFields } from '../document-fields.ts'
import { Instant } from '../instant.ts'
import { Reason } from '../reason.ts'

export const LicenseLeak = z
  .object({
    ...documentFields('ll-5k1r2m3n8pq4t'),
    worker_id: z.string().meta({ description: 'The worker that held it.', example: 'w-5k1r2m3n8pq4t' }),
    worker_name: z.string().meta({ description: 'The name of the worker.', example: 'training-1' }),
    udi: z.string().nullable().meta({
      description: 'The unique device identifier that Smart Licensing knows the server by.',
      example: 'PID:CML,SN:0a1b2c3d',
    }),
    hostname: z
      .string()
      .nullable()
      .meta({ description: 'The host name registered with the license.', example: 'training-1' }),
    product: z
      .string()
      .nullable()
      .meta({ description: 'The license product, as CML names it.', example: 'CML_Enterprise' }),
    at: Instant.meta({ description: 'When it was recorded.', example: '2026-01-02T03:09:41.002Z' }),
    reason: Reason.meta({ description: 'Why it could not be deregistered.' }),
    resolved_at: Instant.nullable().meta({
      description: 'When it was resolved; null while it is open.',
      example: null,
    }),
    resolved_by: z.string().nullable().meta({ description: 'The caller who resolved it.', example: null }),
  })
  .meta({ id: 'LicenseLeak', description: 'A license that was not deregistered before its machine was lost.' })
export type LicenseLeak = z.infer<typeof LicenseLeak>
