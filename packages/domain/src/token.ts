import { z } from 'zod'
import { ROLES, SERVICES } from './actor.ts'
import { Instant } from './instant.ts'

/** A key to the API, without its secret: that is shown once and stored only as a hash. */
export const Token = z.object({
  id: z.string(),
  version: z.int().positive(),
  created_at: Instant,
  updated_at: Instant,
  name: z.string(),
  role: z.enum(ROLES),
  /** The service whose controller may use it; null for people. */
  service: z.enum(SERVICES).nullable(),
  expires_at: Instant.nullable(),
})
export type Token = z.infer<typeof Token>
