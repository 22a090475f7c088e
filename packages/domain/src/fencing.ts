import { z } from 'zod'
import { Instant } from './instant.ts'

/** The highest epoch that each service has written this document with. No older one may write it again. */
export const Fence = z.record(z.string(), z.int().nonnegative())
export type Fence = z.infer<typeof Fence>

/** The newest term of one service, durable: whoever leads by an older epoch is refused from the moment this is stored. */
export const ServiceTerm = z.object({
  /** The name of the service. */
  id: z.string(),
  version: z.int().positive(),
  created_at: Instant,
  updated_at: Instant,
  epoch: z.int().nonnegative(),
  instance_id: z.string(),
  /** Grows when epochs had to begin anew. */
  generation: z.int().nonnegative(),
  /** Counts how often somebody asked its leader to look at everything, and to step down. */
  triggers: z.int().nonnegative().default(0),
  resignations: z.int().nonnegative().default(0),
})
export type ServiceTerm = z.infer<typeof ServiceTerm>

/** Whether a document may be written by this epoch, and with which fence afterwards. Null refuses. */
export function raiseFence(fence: Fence, service: string, epoch: number): Fence | null {
  const highest = fence[service] ?? 0
  if (epoch < highest) return null
  return epoch === highest ? fence : { ...fence, [service]: epoch }
}
