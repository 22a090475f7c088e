import { z } from 'zod'
import { Instant } from './instant.ts'

export const Fence = z.record(z.string(), z.int().nonnegative()).meta({
  id: 'Fence',
  description: 'The highest epoch that each service has written this document with. Older epochs are rejected.',
  example: { 'worker-controller': 7 },
})
export type Fence = z.infer<typeof Fence>

/** The newest term of one service, durable: once it is stored, writes with an older epoch are refused. */
export const ServiceTerm = z
  .object({
    id: z.string().meta({ description: 'The name of the service.', example: 'worker-controller' }),
    version: z
      .int()
      .positive()
      .meta({ description: 'Grows by one with every write. Sent as `ETag`, expected in `If-Match`.', example: 4 }),
    created_at: Instant.meta({
      description: 'When the first term was registered.',
      example: '2026-01-02T03:04:05.678Z',
    }),
    updated_at: Instant.meta({
      description: 'When the document was last written.',
      example: '2026-01-02T03:09:41.002Z',
    }),
    epoch: z
      .int()
      .nonnegative()
      .meta({ description: 'The number of the leadership; every new leader has a higher one.', example: 7 }),
    instance_id: z.string().meta({ description: 'The replica that leads.', example: 'worker-controller-1' }),
    generation: z
      .int()
      .nonnegative()
      .meta({ description: 'Grows when epochs restart from a lower number.', example: 0 }),
    triggers: z
      .int()
      .nonnegative()
      .default(0)
      .meta({ description: 'How many times a full reconciliation was requested.', example: 0 }),
    resignations: z
      .int()
      .nonnegative()
      .default(0)
      .meta({ description: 'How many times the leader was requested to resign.', example: 0 }),
  })
  .meta({ id: 'ServiceTerm', description: 'The newest leadership term of one service.' })
export type ServiceTerm = z.infer<typeof ServiceTerm>
