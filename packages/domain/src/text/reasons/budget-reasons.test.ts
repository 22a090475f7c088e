import { reason } from '../../reason.ts'
import { BUDGET_REASONS } from './budget-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const USED = { period: 'day', date: '2026-01-02', limit: 100, spent_usd: 60, committed_usd: 30.5 } as const
const AHEAD = { at: '2026-01-28T12:00:00.000Z', needed: 12, sessions: 8 }

const ROWS: readonly MessageRow[] = [
  [
    reason('budget_exceeded', { ...USED, needed_usd: 12 }),
    '$12.00 more would exceed the budget of $100.00 for the day 2026-01-02: $60.00 is spent and $30.50 is committed to running ' +
      'machines and disks, $9.50 is left',
  ],
  [
    reason('budget_short', USED),
    'most of the budget of $100.00 for the day 2026-01-02 is used: $60.00 is spent and $30.50 is committed to running machines ' +
      'and disks',
  ],
  [
    reason('budget_used_up', { ...USED, period: 'month', date: '2026-01' }),
    'the budget of $100.00 for the month 2026-01 is used up: $60.00 is spent and $30.50 is committed to running machines and ' +
      'disks',
  ],
  [
    reason('fix_budget', { period: 'day' }),
    'raise it with `lcm set setting budget_usd_per_day AMOUNT`, or start a worker yourself with `lcm start worker`',
  ],
  [
    reason('workers_short_ahead', { ...AHEAD, limit: 10 }),
    'Wed 2026-01-28 12:00 UTC needs 12 workers, and max_workers_per_region is 10: 8 booked sessions would wait for capacity',
  ],
  [
    reason('workers_lacking_ahead', { ...AHEAD, needed: 1, sessions: 1 }),
    'Wed 2026-01-28 12:00 UTC needs 1 worker, and scale-up is turned off (scale_up_enabled is false): 1 booked session would ' +
      'wait for capacity',
  ],
  [
    reason('budget_short_ahead', { period: 'day', date: '2026-01-28', limit: 100, needed_usd: 140 }),
    'the sessions booked for the day 2026-01-28 need $140.00 with all disks, and its budget is $100.00',
  ],
  [
    reason('fix_max_workers', { workers: 12 }),
    'raise it with `lcm set setting max_workers_per_region 12`, or book other times',
  ],
]

checkMessages(BUDGET_REASONS, ROWS)
