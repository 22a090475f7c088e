import { reason } from '../../reason.ts'
import { CALENDAR_REASONS } from './calendar-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const START = '2026-11-24T14:00:00.000Z'
const BOOKED = reason('capacity_booked', { limit: 10, region: 'us-east-1' })
const BOOKED_TEXT =
  'all capacity of that time is booked, with the 10 workers that us-east-1 may have; raise max_workers_per_region or book another time'

const ROWS: readonly MessageRow[] = [
  [
    reason('seats_short', {
      short: 6,
      seats: 20,
      start: START,
      cause: BOOKED,
      alternatives: ['2026-11-24T12:15:00.000Z', '2026-11-24T15:30:00.000Z'],
    }),
    `6 of 20 seats short at 2026-11-24 14:00 UTC: ${BOOKED_TEXT}. Start at 2026-11-24 12:15 UTC or 2026-11-24 15:30 UTC instead`,
  ],
  [
    reason('seats_short', { short: 1, seats: 1, start: START, cause: BOOKED, alternatives: [] }),
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
    reason('promises_come_first', { sessions: 1 }),
    '1 session booked earlier lost its capacity and comes first; add capacity or book another time',
  ],
  [
    reason('promises_come_first', { sessions: 3 }),
    '3 sessions booked earlier lost their capacity and come first; add capacity or book another time',
  ],
  [
    reason('capacity_lost'),
    'the capacity that was promised is gone: a worker, a license or a limit changed since; add capacity or book another time',
  ],
]

checkMessages(CALENDAR_REASONS, ROWS)
