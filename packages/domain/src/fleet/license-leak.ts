import { z } from 'zod'
import { Instant } from '../instant.ts'

/** A licence that went down with its machine. It stays on record until a person has dealt with it. */
export const LicenseLeak = z.object({
  id: z.string(),
  version: z.int().positive(),
  created_at: Instant,
  updated_at: Instant,
  worker_id: z.string(),
  worker_name: z.string(),
  udi: z.string().nullable(),
  hostname: z.string().nullable(),
  product: z.string().nullable(),
  at: Instant,
  reason: z.string(),
  resolved_at: Instant.nullable(),
  resolved_by: z.string().nullable(),
})
export type LicenseLeak = z.infer<typeof LicenseLeak>
