import { reason } from '../../reason.ts'
import { ATTENTION_REASONS } from './attention-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const cause = reason('region_worker_limit', { region: 'us-east-1', limit: 10 })

const ROWS: readonly MessageRow[] = [
  [
    reason('sessions_waiting', { sessions: 9, cause }),
    '9 sessions wait: the limit of 10 workers in us-east-1 is reached',
  ],
  [reason('sessions_waiting', { sessions: 1, cause: reason('no_workers') }), '1 session waits: there are no workers'],
  [reason('sessions_down', { sessions: 2, cause: reason('no_workers') }), '2 sessions are down: there are no workers'],
  [
    reason('sessions_degraded', { sessions: 1, cause: reason('worker_not_serving', { worker: 'metal-2' }) }),
    '1 session is degraded: CML on metal-2 is not available',
  ],
  [reason('fix_worker_limit', { unlicensed: true }), 'raise max_workers_per_region, or register a license'],
  [
    reason('fix_worker_limit', { unlicensed: false }),
    'raise max_workers_per_region, or end sessions that are not needed',
  ],
  [reason('fix_scale_up_disabled'), 'set scale_up_enabled to true, or start or create a worker'],
  [reason('fix_late_worker'), 'extend the timeslot, or end sessions that are not needed'],
  [reason('fix_template'), 'enable or create a template that fits, or change the definition'],
  [
    reason('fix_definition_deleted', { session_id: 'ls-1' }),
    'cancel the session with `lcm cancel session ls-1`, and book another definition',
  ],
  [reason('fix_scheduler'), 'check resource-scheduler with `lcm get services`'],
  [
    reason('fix_worker', { worker: 'metal-2' }),
    'see `lcm why worker metal-2`; LCM moves the sessions if the worker stays down and another one has capacity',
  ],
  [
    reason('fix_cml', { worker: 'metal-2' }),
    'see `lcm why worker metal-2`; the labs may still run, so LCM does not move them by itself',
  ],
  [
    reason('fix_comes_back', { worker: 'nested-1' }),
    'LCM starts the labs again when nested-1 is running; if that takes long, see `lcm why worker nested-1`, or move the sessions',
  ],
  [
    reason('fix_stopped_lab', { session_id: 'ls-1' }),
    'ask the owner, or start the lab again with `lcm retry session ls-1`',
  ],
  [reason('fix_session', { session_id: 'ls-1' }), 'see `lcm why session ls-1`'],
]

checkMessages(ATTENTION_REASONS, ROWS)
