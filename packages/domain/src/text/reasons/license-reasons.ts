import type { NestedReason } from './nested-reason.ts'

export const NOT_LAUNCHED = 'LCM did not launch this machine'

/** The last known state of the license of an instance that is gone. */
export type LostLicense = 'never_checked' | 'registering' | 'return_unconfirmed' | 'not_returned'

const LOST_LICENSES: Readonly<Record<LostLicense, string>> = {
  never_checked: 'LCM never saw whether it held a license',
  registering: 'it may hold a license, since CML was registering and LCM did not see the result',
  return_unconfirmed: 'CML did not confirm that it returned its license',
  not_returned: 'its license was not returned',
}

const CHECK_SMART_ACCOUNT = 'the Smart Account may still count it. Search for this server there'

interface LicenseState {
  readonly registration: string
  readonly authorization: string
}

/** A license pool without a free seat. */
interface MissingSeat {
  readonly product: string
  readonly seats: number
  readonly leaked: number
  /** A stopped worker that holds one, if there is one. */
  readonly stopped: string | null
}

interface SmallLicense {
  readonly product: string
  readonly nodes: number
  readonly declared: number
  /** The type to choose instead. */
  readonly instance_type: string
}

/** Reasons about the licenses of workers. */
export const LICENSE_REASONS = {
  cml_license_state: ({ registration, authorization }: { registration: string; authorization: string | null }) =>
    `CML reports its license as ${registration}${authorization === null ? '' : `, ${authorization}`}`,
  cml_holds_no_license: () => 'CML holds no license',

  // Registration.
  license_operation_started: ({ status }: { status: 'REGISTERING' | 'DEREGISTERING' }) =>
    `${status === 'REGISTERING' ? 'registration' : 'deregistration'} of the license started`,
  license_registration_accepted: ({ again }: { again: boolean }) =>
    `CML accepted the registration${again ? ' again' : ''}`,
  license_registered: () => 'CML is registered and in compliance',
  license_product_differs: ({ held, requested }: { held: string | null; requested: string | null }) =>
    `CML holds a license for ${held}; ${requested} is requested`,
  license_registration_failed: ({ error }: { error: string | null }) =>
    `CML failed to register: ${error ?? 'it reports no reason'}`,
  license_registration_not_started: () => 'CML never started to register',
  license_registration_timeout: ({
    registration,
    authorization,
    seconds,
    failure,
  }: LicenseState & { seconds: number; failure: string | null }) =>
    `CML still reports ${registration}, ${authorization} after ${seconds} s${failure === null ? '' : `: ${failure}`}`,
  license_request_refused: ({ error }: { error: string }) => `CML refuses the license request: ${error}`,

  // Return.
  license_return_started: ({ before }: { before: 'stop' | 'termination' }) =>
    `LCM returns the license before the ${before}`,
  license_returned: ({ confirmed }: { confirmed: boolean }) =>
    confirmed ? 'CML returned its license' : 'CML returned its license; LCM checks that before the termination',
  license_already_gone: () => 'CML reports that it no longer holds a license',
  license_released_until_start: () => 'the license was returned; LCM registers it again when the worker starts',
  license_return_refused: ({ error }: { error: string }) => `CML refuses to return its license: ${error}`,
  license_return_needs_boot: () => 'the instance must boot once more to return its license',
  license_return_needs_approval: ({ worker_id, hours }: { worker_id: string; hours: number }) =>
    `${NOT_LAUNCHED}, whose CML may hold a license that LCM can return once the machine is approved: ` +
    `run \`lcm approve worker ${worker_id}\`. ` +
    `Otherwise the instance is terminated after ${hours} h and the license is recorded as leaked`,

  // Pools.
  license_seat_taken: ({ product }: { product: string }) => `a seat of the license pool ${product} was taken`,
  license_seat_recalled: ({ product }: { product: string }) =>
    `another worker waits for a seat of the license pool ${product}; this one returns its seat when it stops`,
  no_license_seat: ({ product, seats, leaked, stopped }: MissingSeat) =>
    `the license pool ${product} has no free seat: all ${seats} are in use` +
    (leaked === 0 ? '' : `, ${leaked} of them by license leaks`) +
    `. Add seats${leaked === 0 ? '' : ', resolve the leaks'} or stop a worker` +
    (stopped === null ? '' : `. ${stopped} is stopped and keeps its seat: terminate it to free the seat`),
  license_smaller_than_machine: ({ product, nodes, declared, instance_type }: SmallLicense) =>
    `${product} includes ${nodes} nodes; this machine could hold ${declared}: choose ${instance_type}`,
  template_beyond_license: ({ template, cause }: { template: string; cause: NestedReason }) =>
    `template ${template}: ${cause.message}`,
  fix_template_license: () => 'use smaller machines for this license, or another product for these machines',
  definition_beyond_license: (p: { definition: string; needed: number; product: string; nodes: number }) =>
    `definition ${p.definition} needs ${p.needed} nodes; ${p.product} includes ${p.nodes}`,
  fix_definition_license: () => 'make the lab smaller, or add a template with a license for more nodes',

  // Leaks.
  license_lost: ({ cause, license }: { cause: NestedReason; license: LostLicense }) =>
    `${cause.message}; ${LOST_LICENSES[license]}`,
  license_left_behind: () => 'CML removed its license, but did not reach the Smart Account, which still counts it',
  license_return_unconfirmed: () =>
    `CML no longer holds its license, but LCM did not receive its answer to the return: ${CHECK_SMART_ACCOUNT}`,
  license_replaced_outside_lcm: () =>
    `CML held a license, and a registration that LCM did not request has failed since: ${CHECK_SMART_ACCOUNT}`,
  license_return_timeout: ({ hours }: { hours: number }) => `the license was not returned within ${hours} h`,
  license_of_stopped_worker: () =>
    'the instance is stopped, and the policy is to record licenses of stopped workers rather than to return them',
}
