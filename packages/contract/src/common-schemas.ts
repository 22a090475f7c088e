import { Instant } from '@lcm/domain/instant'
import { DecisionRecord } from '@lcm/domain/journal-records'
import { z } from 'zod'

export const LIST_LIMIT_DEFAULT = 100
export const LIST_LIMIT_MAX = 1000

/** Fits the longest topology however its text is escaped, and a list of all labs of a worker. */
export const LARGE_BODY_BYTES_MAX = 5 * 1024 * 1024

export const Page = z.strictObject({
  limit: z.coerce.number().int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT).meta({
    description: 'The maximum number of items to return.',
  }),
  cursor: z.string().min(1).max(300).optional().meta({
    description: 'The `next_cursor` of the previous page. Repeat until it is null.',
  }),
})

/** Pages of past events, newest first. */
export const TimePage = Page.extend({
  from: Instant.optional().meta({
    description: 'Only entries at this instant or later.',
    example: '2026-01-02T00:00:00.000Z',
  }),
  to: Instant.optional().meta({
    description: 'Only entries before this instant.',
    example: '2026-01-03T00:00:00.000Z',
  }),
})

/** `revision` is the event stream position of the list: a stream resumed from it misses nothing. */
export const listOf = <T extends z.ZodType>(item: T) =>
  z.object({
    items: z.array(item).meta({ description: 'The items of this page.' }),
    next_cursor: z.string().nullable().meta({
      description: 'Send it as `cursor` to read the next page; null on the last page.',
      example: null,
    }),
    revision: z.string().meta({
      description: 'The event stream position at which the list was read. Resume the stream from it to miss nothing.',
      example: '1042',
    }),
  })

export const reasonField = z.string().max(500).meta({ description: 'The reason, for the audit log.' })

export const ActionReason = z
  .strictObject({ reason: reasonField.optional().meta({ example: 'it seems stuck' }) })
  .meta({ id: 'ActionReason', description: 'The reason for an action.' })

export const DecisionList = listOf(DecisionRecord).meta({ id: 'DecisionList', description: 'A page of decisions.' })
