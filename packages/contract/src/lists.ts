import { Instant } from '@lcm/domain/instant'
import { z } from 'zod'

export const LIST_LIMIT_DEFAULT = 100
export const LIST_LIMIT_MAX = 1000

export const Page = z.strictObject({
  limit: z.coerce.number().int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
  cursor: z.string().min(1).max(300).optional(),
})

/** Pages of what happened, newest first. */
export const TimePage = Page.extend({
  from: Instant.optional(),
  to: Instant.optional(),
})

/** `revision` is the position of the event stream at which the list was true: resume from it and nothing is missed. */
export const listOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable(), revision: z.string() })
