import { countText, momentText, namesText } from '../format-amounts.ts'
import type { NestedReason } from './nested-reason.ts'

const NAMED_MAX = 5

const AMOUNTS = {
  memory_gb: (amount: number) => `${amount} GB of memory`,
  cpu_cores: (amount: number) => countText(amount, 'CPU core'),
  storage_gb: (amount: number) => `${amount} GB of disk`,
  nodes: (amount: number) => countText(amount, 'node'),
} as const

/** What a worker has too little of. */
export interface Shortage {
  readonly resource: keyof typeof AMOUNTS
  readonly needed: number
  readonly free: number
  /** The limit that the license sets, where that is what is short; null where it is the machine. */
  readonly node_limit: number | null
  /** The product that sets it; null if there is no license. */
  readonly license: string | null
}

function limitText({ node_limit, license }: Shortage): string {
  if (node_limit === null) return ''
  return license === null ? ` (unlicensed limit: ${node_limit})` : ` (${license} limit: ${node_limit})`
}

/** Each cause once, such as `needs 9 nodes; 5 free (metal, nested)`. */
function templatesByCause(refusals: readonly NestedReason[]): string {
  const templates = new Map<string, string[]>()
  for (const { message, params } of refusals) {
    const { template, cause } = params as { template?: string; cause?: NestedReason }
    const because = cause?.message ?? message
    templates.set(because, [...(templates.get(because) ?? []), ...(template === undefined ? [] : [template])])
  }
  return [...templates]
    .map(([because, names]) => `${because}${names.length === 0 ? '' : ` (${namesText(names, NAMED_MAX)})`}`)
    .join('; ')
}

/** Why one worker can't take a session. The worker is named by the resource that the reason belongs to. */
const REFUSAL_REASONS = {
  cml_status: ({ status }: { status: string }) => `CML on the worker is ${status}`,
  worker_draining: ({ by }: { by: string }) => `the worker is being drained by ${by}`,
  worker_cordoned: () => 'the worker is cordoned',
  /** `license` is the registered product, as far as CML names it. */
  license_mismatch: ({
    registered,
    license,
    needed,
  }: {
    registered: boolean
    license: string | null
    needed: readonly string[]
  }) =>
    `needs the license ${needed.join(' or ')}; ${registered ? `the worker has ${license ?? 'another one'}` : 'none is registered'}`,
  capacity_unknown: () => 'the capacity of the worker is not declared',
  /** With several workers, the numbers are those of the best one. */
  insufficient_capacity: (shortage: Shortage & { workers: number }) => {
    const { resource, needed, free, workers } = shortage
    const has = workers === 1 ? `${free} free` : `the best of ${workers} workers has ${free} free`
    return `needs ${AMOUNTS[resource](needed)}; ${has}${limitText(shortage)}`
  },
  cml_version_unknown: () => 'the CML version of the worker is not known yet',
  cml_version_too_old: ({ version, min }: { version: string; min: string }) =>
    `needs CML ${min} or later; the worker has ${version}`,
  cml_version_too_new: ({ version, max }: { version: string; max: string }) =>
    `needs CML ${max} or earlier; the worker has ${version}`,
  node_definitions_unknown: () => 'the node definitions of the worker are not known yet',
  node_definitions_missing: ({ missing }: { missing: readonly string[] }) =>
    `the worker lacks the node ${missing.length === 1 ? 'definition' : 'definitions'} ${namesText(missing, NAMED_MAX)}`,
  insufficient_ports: ({ needed, free }: { needed: number; free: number }) =>
    `needs ${countText(needed, 'port')}; ${free} free`,
}

const WAIT_REASONS = {
  waiting_for_worker: ({ worker }: { worker: string }) => `waiting for ${worker} to become available`,
  waiting_for_license: ({ worker, license_status }: { worker: string; license_status: string }) =>
    `waiting for the license of ${worker}, which is ${license_status}`,
  waiting_for_node_definitions: ({ worker }: { worker: string }) =>
    `waiting for ${worker}, whose node definitions are not known yet`,
  waiting_for_resume: ({ worker }: { worker: string }) =>
    `waiting for ${worker}, which is being started for the session`,
  waiting_for_predecessors: ({ worker, sessions }: { worker: string; sessions: readonly string[] }) =>
    sessions.length === 1
      ? `waiting until the lab of ${sessions[0]} is gone from ${worker}`
      : `waiting until the labs of ${namesText(sessions, NAMED_MAX)} are gone from ${worker}`,
  capacity_not_reserved: ({ worker }: { worker: string }) => `no capacity on ${worker} is reserved for the session`,
  waiting_for_capacity: ({ worker, cause }: { worker: string; cause: NestedReason }) =>
    `${cause.message}; waiting for capacity on ${worker}`,
}

/** What rules a worker out, by category. */
const CATEGORY_TEXTS = {
  status: 'their status',
  license: 'their license',
  capacity: 'their capacity',
  cml_version: 'their CML version',
  node_definitions: 'their node definitions',
  ports: 'their free ports',
} as const

const PURCHASE_REASONS = {
  /** `cause` is why no worker takes it now, `scale_up` what is done about it, or why nothing is. */
  no_capacity: ({ cause, scale_up }: { cause: NestedReason; scale_up: NestedReason }) =>
    `no capacity: ${cause.message}; ${scale_up.message}`,
  no_workers: () => 'there are no workers',
  no_other_workers: () => 'the only workers still hold an earlier lab of the session',
  workers_refuse: ({
    workers,
    category,
    cause,
  }: {
    workers: number
    category: keyof typeof CATEGORY_TEXTS
    cause: NestedReason
  }) =>
    `${countText(workers, 'worker')} can't take it because of ${CATEGORY_TEXTS[category]}, for example: ${cause.message}`,
  scale_up_refused: ({ cause, refusal }: { cause: NestedReason; refusal: NestedReason }) =>
    `${cause.message}; ${refusal.message}`,
  scale_up_requested: ({ template }: { template: string }) => `scale-up of ${template} requested`,
  new_worker_too_late: ({ minutes }: { minutes: number }) =>
    `a new worker takes about ${minutes} min to be ready, and the timeslot ends before that`,
  license_pool_exhausted: ({ template, product }: { template: string; product: string }) =>
    `${template} needs a license of ${product}, whose pool has no free seat: add seats or stop a worker`,
  scale_up_disabled: () => 'scale-up is turned off (scale_up_enabled is false)',
  region_worker_limit: ({ region, limit }: { region: string; limit: number }) =>
    `the limit of ${countText(limit, 'worker')} in ${region} is reached`,
  no_capacity_for_sessions: ({ sessions }: { sessions: number }) => `no capacity for ${countText(sessions, 'session')}`,
  no_template_enabled: () => 'no template is enabled',
  no_template_fits: ({ causes }: { causes: readonly NestedReason[] }) =>
    `no template fits: ${templatesByCause(causes)}`,
  template_refused: ({ template, cause }: { template: string; cause: NestedReason }) => `${template}: ${cause.message}`,
  lab_fits_nowhere: ({ cause }: { cause: NestedReason }) =>
    `no template and no worker can run this lab now: ${cause.message}`,
  /** `minutes`: how long it can be extended at most. */
  extension_exceeds_capacity: ({ minutes }: { minutes: number }) =>
    minutes === 0
      ? 'other sessions are promised its capacity after its end'
      : `other sessions are promised its capacity then; it can be extended by ${minutes} min`,
  unschedulable: ({ cause }: { cause: NestedReason }) => `can't be scheduled: ${cause.message}`,
}

const SCHEDULE_REASONS = {
  topology_not_fetched: () => 'the topology has not been fetched yet',
  placement_refused: ({ worker, cause }: { worker: string; cause: NestedReason }) =>
    `${worker} can't take the session: ${cause.message}`,
  assignment_failed: () => 'the assignment failed',
  capacity_taken: ({ cause }: { cause: NestedReason }) => `the capacity was taken in the meantime: ${cause.message}`,
  placed_as_planned: ({ worker }: { worker: string }) => `placed on ${worker}, as planned`,
  planned_on: ({ worker }: { worker: string }) => `planned on ${worker}`,
  planned_takeover: ({ worker, sessions, until }: { worker: string; sessions: number; until: string }) =>
    `takes over from ${countText(sessions, 'session')} on ${worker} that ${sessions === 1 ? 'ends' : 'end'} by ${momentText(until)}`,
  planned_wake: ({ worker, at, sessions }: { worker: string; at: string; sessions: number }) =>
    `${worker} is woken at ${momentText(at)} for ${countText(sessions, 'session')}`,
  /** `at` is null where the machine is bought for an earlier session. */
  planned_purchase: ({ template, at }: { template: string; at: string | null }) =>
    at === null ? `planned on a new ${template} machine` : `a new ${template} machine is bought at ${momentText(at)}`,
  definition_deleted: () => 'the definition no longer exists',
  capacity_already_reserved: ({ worker }: { worker: string }) =>
    `placed on ${worker}: it already holds capacity for the session`,
  placed_on: ({ worker }: { worker: string }) => `placed on ${worker}`,
  placed_on_fullest: ({ worker }: { worker: string }) => `placed on ${worker}: it is the fullest candidate`,
  placed_on_empty: ({ worker }: { worker: string }) => `placed on ${worker}: all candidates are empty`,
}

/** Reasons about where a session is placed, what it waits for and what is bought for it. */
export const PLACEMENT_REASONS = {
  ...REFUSAL_REASONS,
  ...WAIT_REASONS,
  ...PURCHASE_REASONS,
  ...SCHEDULE_REASONS,
}
