import { reason } from '../../reason.ts'
import { CALENDAR_REASONS } from './calendar-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const START = '2026-11-24T14:00:00.000Z'
const BOOKED = reason('capacity_booked', { limit: 10, region: 'us-east-1' })
const BOOKED_TEXT =
  'all capacity of that time is booked, with the 10 workers that us-east-1 may have; raise max_workers_per_region or book another time'

const NO_FIX = {
  limit: null,
  is_scale_up_off: false,
  needs_licenses: false,
  cordoned: [],
  drained: [],
  stopped: [],
  templates: [],
}

const ROWS: readonly MessageRow[] = [
  [
    reason('seats_short', {
      short: 6,
      seats: 20,
      start: START,
      cause: BOOKED,
    }),
    `6 of 20 seats short at 2026-11-24 14:00 UTC: ${BOOKED_TEXT}`,
  ],
  [
    reason('seats_short', { short: 1, seats: 1, start: START, cause: BOOKED }),
    `No capacity at 2026-11-24 14:00 UTC: ${BOOKED_TEXT}`,
  ],
  [reason('extension_short', { minutes: 25, cause: BOOKED }), `${BOOKED_TEXT}; it can be extended by 25 min at most`],
  [reason('extension_short', { minutes: 0, cause: BOOKED }), `${BOOKED_TEXT}; the session can't be extended`],
  [BOOKED, BOOKED_TEXT],
  [
    reason('capacity_booked_no_scale_up'),
    'all workers are booked at that time, and scale-up is off; set scale_up_enabled to true, create a worker or book another time',
  ],
  [
    reason('capacity_booked_no_template'),
    'all workers are booked at that time, and no template is enabled; enable a template, create a worker or book another time',
  ],
  [
    reason('capacity_booked_no_seat', { license: 'CML_Enterprise' }),
    'all capacity of that time is booked, and no CML_Enterprise license is free for another worker; add seats to the license ' +
      'pool or book another time',
  ],
  [
    reason('capacity_booked_license', { node_limit: 5, license: null }),
    'all capacity of that time is booked, and without a license a worker runs only 5 nodes; register a license with more ' +
      'nodes, raise max_workers_per_region or book another time',
  ],
  [
    reason('capacity_booked_license', { node_limit: 20, license: 'CML_Enterprise' }),
    'all capacity of that time is booked, and with CML_Enterprise a worker runs only 20 nodes; register a license with more ' +
      'nodes, raise max_workers_per_region or book another time',
  ],
  [
    reason('budget_booked', {
      ...{ period: 'day', date: '2026-06-02', limit: 50 },
      ...{ spent_usd: 0, committed_usd: 46.5, needed_usd: 4.25 },
    }),
    'the budget of Tue 2026-06-02 is used up: it is $50.00, $0.00 is spent, $46.50 is promised, and this needs $4.25 more; raise ' +
      'budget_usd_per_day or book another day',
  ],
  [
    reason('budget_booked', {
      ...{ period: 'month', date: '2026-06', limit: 900 },
      ...{ spent_usd: 400, committed_usd: 500, needed_usd: 4 },
    }),
    'the budget of 2026-06 is used up: it is $900.00, $400.00 is spent, $500.00 is promised, and this needs $4.00 more; raise ' +
      'budget_usd_per_month or book another month',
  ],
  [
    reason('lab_takes_longer', { minutes: 4, cause: BOOKED }),
    `its lab needs 4 min more than when it was booked: ${BOOKED_TEXT}`,
  ],
  [
    reason('promises_come_first', { sessions: 1 }),
    '1 session booked earlier lost its capacity and comes first; add capacity or book another time',
  ],
  [
    reason('promises_come_first', { sessions: 3 }),
    '3 sessions booked earlier lost their capacity and come first; add capacity or book another time',
  ],
  [
    reason('capacity_lost', { since: START, cause: BOOKED }),
    `the capacity that it was promised is gone: ${BOOKED_TEXT}`,
  ],
  [reason('capacity_lost', { since: START, cause: null }), 'the capacity that it was promised is gone'],
  [
    reason('capacity_not_promised', { since: START, cause: BOOKED }),
    `it was booked before LCM promised capacity, and none is left for it: ${BOOKED_TEXT}`,
  ],
  [
    reason('capacity_not_promised', { since: START, cause: null }),
    'it was booked before LCM promised capacity, and none is left for it',
  ],
  [
    reason('promises_lost', { sessions: 1, owners: ['Ann'], start: START }),
    '1 booked session of Ann has lost its promised capacity; it starts Tue 2026-11-24 14:00 UTC',
  ],
  [
    reason('promises_lost', { sessions: 5, owners: ['Ann', 'Bob', 'Eve', 'Mia'], start: START }),
    '5 booked sessions of Ann, Bob, Eve and 1 more have lost their promised capacity; the first starts Tue 2026-11-24 14:00 UTC',
  ],
  [
    reason('promises_missing', { sessions: 1, owners: ['Ann'], start: START }),
    '1 booked session of Ann has no promised capacity since the upgrade; it starts Tue 2026-11-24 14:00 UTC',
  ],
  [
    reason('promises_missing', { sessions: 2, owners: ['Ann'], start: START }),
    '2 booked sessions of Ann have no promised capacity since the upgrade; the first starts Tue 2026-11-24 14:00 UTC',
  ],
  [reason('fix_promises', { ...NO_FIX }), 'ask the owners to book another time'],
  [
    reason('fix_promises', { ...NO_FIX, limit: 2, is_scale_up_off: true, needs_licenses: true }),
    'set scale_up_enabled to true, raise max_workers_per_region (it is 2), add licenses, or ask the owners to book another time',
  ],
  [
    reason('fix_promises', { ...NO_FIX, cordoned: ['a', 'b'], drained: ['c'], stopped: ['d'], templates: ['metal'] }),
    'uncordon a, b, cancel the drain of c, start d, enable template metal, or ask the owners to book another time',
  ],
  [reason('fix_session_at_risk'), 'see `lcm doctor` for what brings the capacity back'],
]

checkMessages(CALENDAR_REASONS, ROWS)
