import { reason } from '../../reason.ts'
import { PLAN_REASONS } from './plan-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const NINE = '2026-01-02T09:00:00.000Z'
const START = { sessions: 8, first_use: NINE, minutes: 21 }
const BUY = { ...START, template: 'metal', nodes: 20, nodes_possible: 200 }

const ROWS: readonly MessageRow[] = [
  [
    reason('plan_stop', { next_use: NINE, staying_usd: 12.36, sleeping_usd: 1.25 }),
    'next use 2026-01-02 09:00 UTC; sleeping costs 1.25 USD, staying 12.36 USD',
  ],
  [reason('plan_stop_unused', { until: NINE }), 'nothing is planned on it until 2026-01-02 09:00 UTC'],
  [
    reason('plan_stay', { next_use: NINE, staying_usd: 1, sleeping_usd: 1.25 }),
    'next use 2026-01-02 09:00 UTC; staying costs 1.00 USD, sleeping 1.25 USD',
  ],
  [
    reason('plan_stay_short', { next_use: NINE, minutes: 26 }),
    'next use 2026-01-02 09:00 UTC; a stop and a start take up to 26 min',
  ],
  [reason('plan_wake', START), '8 sessions from 2026-01-02 09:00 UTC; it takes up to 21 min to be ready'],
  [
    reason('plan_buy', { ...BUY, license: null }),
    'no other machine has capacity for 8 sessions from 2026-01-02 09:00 UTC; it takes up to 21 min to be ready',
  ],
  [
    reason('plan_buy', { ...BUY, license: 'CML_Enterprise' }),
    'no other machine has capacity for 8 sessions from 2026-01-02 09:00 UTC; it takes up to 21 min to be ready; ' +
      'CML_Enterprise allows 20 of its 200 nodes, so a smaller template than metal may cost less',
  ],
  [
    reason('plan_terminate', { until: NINE, disk_usd: 1.06, new_usd: 0.2 }),
    'nothing is planned on it until 2026-01-02 09:00 UTC; its disk costs 1.06 USD until then, a new worker 0.20 USD more than a start',
  ],
  [reason('plan_no_capacity'), 'no machine has capacity for it, and none can be ready before its timeslot ends'],
  [
    reason('plan_no_license_free', { license: 'CML_Enterprise' }),
    'it needs another machine, and no CML_Enterprise license is free',
  ],
  [reason('plan_budget_reached'), 'it needs another machine, and the budget does not allow one'],
]

checkMessages(PLAN_REASONS, ROWS)
