import { Reason } from '@lcm/domain/reason'
import { z } from 'zod'

/** RFC 9457. `type` is stable and links to the documentation of the code. */
export const Problem = z
  .object({
    type: z.string().meta({ description: 'The documentation of the code.', example: '/api/docs#validation_failed' }),
    title: z.string().meta({ description: 'The meaning of the code, always the same text.' }),
    status: z.int().meta({ description: 'The HTTP status.', example: 409 }),
    detail: z.string().meta({ description: 'What failed this time, for people.' }),
    code: z.string().meta({ description: 'The code, for programs. Never reused for another meaning.' }),
    instance: z.string().optional().meta({ description: 'The path of the request.' }),
    errors: z
      .array(
        z.object({
          path: z.string().meta({ description: 'The wrong field.', example: 'body.template_name' }),
          message: z.string().meta({ description: 'The error in this field.' }),
          line: z.int().positive().optional().meta({ description: 'The line of a topology.', example: 12 }),
        }),
      )
      .optional()
      .meta({ description: 'The wrong fields.' }),
    reason: Reason.optional().meta({ description: 'Why a decision refused it, as data.' }),
    sign_in: z.string().optional().meta({
      description:
        'With `unauthenticated`: the path where a browser signs in with the identity provider, if there is one.',
    }),
  })
  .meta({ id: 'Problem', description: 'A refusal (RFC 9457).' })
export type Problem = z.infer<typeof Problem>
