import { reason } from '../../reason.ts'
import { LICENSE_REASONS } from './license-reasons.ts'
import { checkMessages, type MessageRow } from './testing/check-messages.ts'

const GONE = reason('termination_confirmed', { instance_id: 'i-1', state: 'terminated' })
const LATE = { registration: 'IN_PROGRESS', authorization: 'EVAL', seconds: 120 }

const ROWS: readonly MessageRow[] = [
  [reason('cml_license_state', { registration: 'FAILED', authorization: null }), 'CML reports its license as FAILED'],
  [
    reason('cml_license_state', { registration: 'COMPLETED', authorization: 'EVAL' }),
    'CML reports its license as COMPLETED, EVAL',
  ],
  [reason('cml_holds_no_license'), 'CML holds no license'],
  [reason('license_operation_started', { status: 'REGISTERING' }), 'registration of the license started'],
  [reason('license_operation_started', { status: 'DEREGISTERING' }), 'deregistration of the license started'],
  [reason('license_registration_accepted', { again: false }), 'CML accepted the registration'],
  [reason('license_registration_accepted', { again: true }), 'CML accepted the registration again'],
  [reason('license_registered'), 'CML is registered and in compliance'],
  [
    reason('license_product_differs', { held: 'CML_Personal', requested: 'CML_Enterprise' }),
    'CML holds a license for CML_Personal; CML_Enterprise is requested',
  ],
  [reason('license_registration_failed', { error: 'bad token' }), 'CML failed to register: bad token'],
  [reason('license_registration_failed', { error: null }), 'CML failed to register: it reports no reason'],
  [reason('license_registration_not_started'), 'CML never started to register'],
  [
    reason('license_registration_timeout', { ...LATE, failure: null }),
    'CML still reports IN_PROGRESS, EVAL after 120 s',
  ],
  [
    reason('license_registration_timeout', { ...LATE, failure: 'no' }),
    'CML still reports IN_PROGRESS, EVAL after 120 s: no',
  ],
  [reason('license_request_refused', { error: 'no' }), 'CML refuses the license request: no'],
  [reason('license_return_started', { before: 'stop' }), 'LCM returns the license before the stop'],
  [reason('license_returned', { confirmed: true }), 'CML returned its license'],
  [
    reason('license_returned', { confirmed: false }),
    'CML returned its license; LCM checks that before the termination',
  ],
  [reason('license_already_gone'), 'CML reports that it no longer holds a license'],
  [reason('license_released_until_start'), 'the license was returned; LCM registers it again when the worker starts'],
  [reason('license_return_refused', { error: 'labs run' }), 'CML refuses to return its license: labs run'],
  [reason('license_return_needs_boot'), 'the instance must boot once more to return its license'],
  [
    reason('license_return_needs_approval', { worker_id: 'w-1', hours: 2 }),
    'LCM did not launch this machine, whose CML may hold a license that LCM can return once the machine is approved: ' +
      'run `lcm approve worker w-1`. ' +
      'Otherwise the instance is terminated after 2 h and the license is recorded as leaked',
  ],
  [reason('license_seat_taken', { product: 'CML_Enterprise' }), 'a seat of the license pool CML_Enterprise was taken'],
  [
    reason('license_seat_recalled', { product: 'CML_Enterprise' }),
    'another worker waits for a seat of the license pool CML_Enterprise; this one returns its seat when it stops',
  ],
  [
    reason('no_license_seat', { product: 'CML_Enterprise', seats: 4, leaked: 0, stopped: null }),
    'the license pool CML_Enterprise has no free seat: all 4 are in use. Add seats or stop a worker',
  ],
  [
    reason('no_license_seat', { product: 'CML_Enterprise', seats: 4, leaked: 1, stopped: 'metal-3' }),
    'the license pool CML_Enterprise has no free seat: all 4 are in use, 1 of them by license leaks. ' +
      'Add seats, resolve the leaks or stop a worker. ' +
      'metal-3 is stopped and keeps its seat: terminate it to free the seat',
  ],
  [
    reason('license_smaller_than_machine', {
      product: 'CML_Enterprise',
      nodes: 20,
      declared: 200,
      instance_type: 'm8i.4xlarge',
    }),
    'CML_Enterprise includes 20 nodes; this machine could hold 200: choose m8i.4xlarge',
  ],
  [reason('template_beyond_license', { template: 'metal', cause: GONE }), `template metal: ${GONE.message}`],
  [reason('fix_template_license'), 'use smaller machines for this license, or another product for these machines'],
  [
    reason('definition_beyond_license', { definition: 'bgp', needed: 30, product: 'CML_Enterprise', nodes: 20 }),
    'definition bgp needs 30 nodes; CML_Enterprise includes 20',
  ],
  [reason('fix_definition_license'), 'make the lab smaller, or add a template with a license for more nodes'],
  [
    reason('license_lost', { cause: GONE, license: 'never_checked' }),
    'EC2 confirms that i-1 is terminated; LCM never saw whether it held a license',
  ],
  [
    reason('license_lost', { cause: GONE, license: 'registering' }),
    'EC2 confirms that i-1 is terminated; it may hold a license, since CML was registering and LCM did not see the result',
  ],
  [
    reason('license_lost', { cause: GONE, license: 'return_unconfirmed' }),
    'EC2 confirms that i-1 is terminated; CML did not confirm that it returned its license',
  ],
  [
    reason('license_lost', { cause: GONE, license: 'not_returned' }),
    'EC2 confirms that i-1 is terminated; its license was not returned',
  ],
  [
    reason('license_left_behind'),
    'CML removed its license, but did not reach the Smart Account, which still counts it',
  ],
  [
    reason('license_return_unconfirmed'),
    'CML no longer holds its license, but LCM did not receive its answer to the return: the Smart ' +
      'Account may still count it. Search for this server there',
  ],
  [
    reason('license_replaced_outside_lcm'),
    'CML held a license, and a registration that LCM did not request has failed since: the Smart ' +
      'Account may still count it. Search for this server there',
  ],
  [reason('license_return_timeout', { hours: 2 }), 'the license was not returned within 2 h'],
  [
    reason('license_of_stopped_worker'),
    'the instance is stopped, and the policy is to record licenses of stopped workers rather than to return them',
  ],
]

checkMessages(LICENSE_REASONS, ROWS)
