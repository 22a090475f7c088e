import { reason } from '../../reason.ts'
import { QUOTA_REASONS } from './quota-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const HOURS = { needed: 64, used: 950.5, limit: 1000, week: '2026-11-16', frees_at: '2026-11-23T00:00:00.000Z' }

const ROWS: readonly MessageRow[] = [
  [
    reason('quota_live_sessions', { used: 2, limit: 2, frees_at: '2026-11-19T10:00:00.000Z' }),
    'You have 2 of 2 sessions open; cancel one or ask an operator',
  ],
  [reason('quota_live_sessions', { used: 0, limit: 0, frees_at: null }), "You can't open sessions; ask an operator"],
  [
    reason('quota_same_time', { used: 2, limit: 2, frees_at: '2026-11-19T10:00:00.000Z' }),
    'You have 2 of 2 sessions at that time; choose another time, cancel one or ask an operator',
  ],
  [
    reason('quota_future_sessions', { used: 10, limit: 10, frees_at: '2026-11-20T10:00:00.000Z' }),
    'You have 10 of 10 future sessions booked; cancel one or ask an operator',
  ],
  [
    reason('quota_future_sessions', { used: 0, limit: 0, frees_at: null }),
    "You can't book sessions in advance; ask an operator",
  ],
  [reason('quota_horizon', { days: 90, limit: 60 }), 'The slot starts in 90 days; you can book up to 60 days ahead'],
  [
    reason('quota_core_hours', HOURS),
    'The session needs 64 core-hours in the week of 2026-11-16, and you have used 950.5 of 1000; book a shorter session ' +
      'or ask an operator',
  ],
]

checkMessages(QUOTA_REASONS, ROWS)
