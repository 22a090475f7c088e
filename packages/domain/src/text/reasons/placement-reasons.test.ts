import { reason, textReason } from '../../reason.ts'
import { PLACEMENT_REASONS } from './placement-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const NODES = { resource: 'nodes', needed: 3, free: 2 } as const
const UNLIMITED = { node_limit: null, license: null }
const CAUSE = reason('worker_cordoned')

const cause = textReason('the cause')
const refusal = textReason('the refusal')

const ROWS: readonly MessageRow[] = [
  [reason('cml_status', { status: 'STARTING' }), 'CML on the worker is STARTING'],
  [reason('worker_draining', { by: 'oidc:ann' }), 'the worker is being drained by oidc:ann'],
  [reason('worker_cordoned'), 'the worker is cordoned'],
  [
    reason('license_mismatch', { registered: true, license: 'CML_Personal', needed: ['CML_Enterprise'] }),
    'needs the license CML_Enterprise; the worker has CML_Personal',
  ],
  [
    reason('license_mismatch', { registered: true, license: null, needed: ['CML_Enterprise'] }),
    'needs the license CML_Enterprise; the worker has another one',
  ],
  [
    reason('license_mismatch', { registered: false, license: null, needed: ['CML_Enterprise', 'CML_Education'] }),
    'needs the license CML_Enterprise or CML_Education; none is registered',
  ],
  [reason('capacity_unknown'), 'the capacity of the worker is not declared'],
  [
    reason('insufficient_capacity', { workers: 4, ...NODES, node_limit: 5, license: null }),
    'needs 3 nodes; the best of 4 workers has 2 free (unlicensed limit: 5)',
  ],
  [
    reason('insufficient_capacity', { workers: 1, ...NODES, node_limit: 20, license: 'CML_Personal' }),
    'needs 3 nodes; 2 free (CML_Personal limit: 20)',
  ],
  [reason('insufficient_capacity', { workers: 1, ...NODES, ...UNLIMITED }), 'needs 3 nodes; 2 free'],
  [
    reason('insufficient_capacity', { workers: 1, resource: 'memory_gb', needed: 192.5, free: 192, ...UNLIMITED }),
    'needs 192.5 GB of memory; 192 free',
  ],
  [
    reason('insufficient_capacity', { workers: 1, resource: 'cpu_cores', needed: 1, free: 0, ...UNLIMITED }),
    'needs 1 CPU core; 0 free',
  ],
  [
    reason('insufficient_capacity', { workers: 2, resource: 'storage_gb', needed: 50, free: 10, ...UNLIMITED }),
    'needs 50 GB of disk; the best of 2 workers has 10 free',
  ],
  [reason('cml_version_unknown'), 'the CML version of the worker is not known yet'],
  [reason('cml_version_too_old', { version: '2.8.1', min: '2.9' }), 'needs CML 2.9 or later; the worker has 2.8.1'],
  [reason('cml_version_too_new', { version: '2.10.0', max: '2.9' }), 'needs CML 2.9 or earlier; the worker has 2.10.0'],
  [reason('node_definitions_unknown'), 'the node definitions of the worker are not known yet'],
  [reason('node_definitions_missing', { missing: ['iosv'] }), 'the worker lacks the node definition iosv'],
  [
    reason('node_definitions_missing', { missing: [...'abcdefg'] }),
    'the worker lacks the node definitions a, b, c, d, e and 2 more',
  ],
  [reason('insufficient_ports', { needed: 2, free: 1 }), 'needs 2 ports; 1 free'],
  [reason('waiting_for_worker', { worker: 'nested-1' }), 'waiting for nested-1 to become available'],
  [
    reason('waiting_for_license', { worker: 'nested-1', license_status: 'REGISTERING' }),
    'waiting for the license of nested-1, which is REGISTERING',
  ],
  [
    reason('waiting_for_node_definitions', { worker: 'nested-1' }),
    'waiting for nested-1, whose node definitions are not known yet',
  ],
  [
    reason('waiting_for_resume', { worker: 'nested-1' }),
    'waiting for nested-1, which is being started for the session',
  ],
  [
    reason('waiting_for_predecessors', { worker: 'nested-1', sessions: ['ls-1', 'ls-2'] }),
    'waiting until the labs of ls-1, ls-2 are gone from nested-1',
  ],
  [
    reason('waiting_for_predecessors', { worker: 'nested-1', sessions: ['ls-1'] }),
    'waiting until the lab of ls-1 is gone from nested-1',
  ],
  [reason('capacity_not_reserved', { worker: 'nested-1' }), 'no capacity on nested-1 is reserved for the session'],
  [reason('extension_exceeds_capacity', { minutes: 0 }), 'other sessions are promised its capacity after its end'],
  [
    reason('extension_exceeds_capacity', { minutes: 5 }),
    'other sessions are promised its capacity then; it can be extended by 5 min',
  ],
  [
    reason('waiting_for_capacity', { worker: 'nested-1', cause: reason('no_template_enabled') }),
    'no template is enabled; waiting for capacity on nested-1',
  ],
  [
    reason('no_capacity', {
      cause: reason('insufficient_capacity', { workers: 4, ...NODES, node_limit: 5, license: null }),
      scale_up: reason('scale_up_requested', { template: 'nested' }),
    }),
    'no capacity: needs 3 nodes; the best of 4 workers has 2 free (unlicensed limit: 5); scale-up of nested requested',
  ],
  [reason('no_workers'), 'there are no workers'],
  [reason('no_other_workers'), 'the only workers still hold an earlier lab of the session'],
  [
    reason('workers_refuse', { workers: 4, category: 'status', cause: CAUSE }),
    "4 workers can't take it because of their status, for example: the worker is cordoned",
  ],
  [reason('scale_up_requested', { template: 'nested' }), 'scale-up of nested requested'],
  [
    reason('new_worker_too_late', { minutes: 20 }),
    'a new worker takes about 20 min to be ready, and the timeslot ends before that',
  ],
  [
    reason('license_pool_exhausted', { template: 'metal', product: 'CML_Enterprise' }),
    'metal needs a license of CML_Enterprise, whose pool has no free seat: add seats or stop a worker',
  ],
  [reason('scale_up_disabled'), 'scale-up is turned off (scale_up_enabled is false)'],
  [reason('region_worker_limit', { region: 'us-east-1', limit: 3 }), 'the limit of 3 workers in us-east-1 is reached'],
  [reason('no_capacity_for_sessions', { sessions: 1 }), 'no capacity for 1 session'],
  [reason('no_template_enabled'), 'no template is enabled'],
  [reason('template_refused', { template: 'metal', cause: CAUSE }), 'metal: the worker is cordoned'],
  [
    reason('no_template_fits', {
      causes: ['nested', 'metal'].map(template =>
        reason('template_refused', {
          template,
          cause: reason('cml_version_too_old', { version: '2.8', min: '2.9' }),
        }),
      ),
    }),
    'no template fits: needs CML 2.9 or later; the worker has 2.8 (nested, metal)',
  ],
  [
    reason('lab_fits_nowhere', { cause: reason('no_template_enabled') }),
    'no template and no worker can run this lab now: no template is enabled',
  ],
  [reason('unschedulable', { cause: reason('no_template_enabled') }), "can't be scheduled: no template is enabled"],
  [reason('definition_deleted'), 'the definition no longer exists'],
  [
    reason('capacity_already_reserved', { worker: 'nested-1' }),
    'placed on nested-1: it already holds capacity for the session',
  ],
  [reason('placed_on', { worker: 'nested-1' }), 'placed on nested-1'],
  [reason('placed_on_fullest', { worker: 'nested-1' }), 'placed on nested-1: it is the fullest candidate'],
  [reason('placed_on_empty', { worker: 'nested-1' }), 'placed on nested-1: all candidates are empty'],
  [reason('topology_not_fetched'), 'the topology has not been fetched yet'],
  [reason('placement_refused', { worker: 'metal-1', cause }), "metal-1 can't take the session: the cause"],
  [reason('assignment_failed'), 'the assignment failed'],
  [reason('capacity_taken', { cause }), 'the capacity was taken in the meantime: the cause'],
  [reason('placed_as_planned', { worker: 'metal-3' }), 'placed on metal-3, as planned'],
  [reason('planned_on', { worker: 'metal-3' }), 'planned on metal-3'],
  [
    reason('planned_takeover', { worker: 'metal-3', sessions: 8, until: '2026-01-02T11:50:00.000Z' }),
    'takes over from 8 sessions on metal-3 that end by 2026-01-02 11:50 UTC',
  ],
  [
    reason('planned_takeover', { worker: 'metal-3', sessions: 1, until: '2026-01-02T11:50:00.000Z' }),
    'takes over from 1 session on metal-3 that ends by 2026-01-02 11:50 UTC',
  ],
  [
    reason('planned_wake', { worker: 'metal-3', at: '2026-01-02T13:29:00.000Z', sessions: 8 }),
    'metal-3 is woken at 2026-01-02 13:29 UTC for 8 sessions',
  ],
  [
    reason('planned_purchase', { template: 'metal', at: '2026-01-02T13:29:00.000Z' }),
    'a new metal machine is bought at 2026-01-02 13:29 UTC',
  ],
  [reason('planned_purchase', { template: 'metal', at: null }), 'planned on a new metal machine'],
  [reason('scale_up_refused', { cause, refusal }), 'the cause; the refusal'],
]

checkMessages(PLACEMENT_REASONS, ROWS)
