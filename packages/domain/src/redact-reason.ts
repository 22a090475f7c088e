import { Reason, type ReasonCode, reason, textReason } from './reason.ts'
import { unschedulable, unschedulableBecause } from './session/unschedulable-reason.ts'
import { REASONS } from './text/reasons/catalog.ts'

const HIDDEN = '…'
const FOR_OPERATORS = 'only operators can see the reason'

/**
 * Params that every user may read. All others may name an instance, an address, a tag, a person's error text or another part of
 * the infrastructure, so a new param is hidden until it is added here.
 */
const SHOWN: ReadonlySet<string> = new Set(
  (
    'action authorization before by category date deadline dependency fields held instance_type instance_types last_at ' +
    'license license_status max min missing needed next_try_at operation part period reason region registration ' +
    'requested resource restarted_at save saved_at scope service since spared stage start state status step telemetry ' +
    'template version waiting_for worker worker_id workers'
  ).split(' '),
)

/** The reason without the names of infrastructure, for people who don't run it. */
export function redactReason({ code, params }: Reason): Reason {
  const shown = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, redactParam(name, value)]))
  if (code === 'text') return textReason(FOR_OPERATORS)
  if (!Object.hasOwn(REASONS, code)) return { code, message: FOR_OPERATORS, params: {} }
  try {
    // Params of a known code may still have the shape of another release.
    return (reason as (code: ReasonCode, params: object) => Reason)(code as ReasonCode, shown)
  } catch {
    return { code, message: FOR_OPERATORS, params: {} }
  }
}

function redactParam(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map(each => redactParam(name, each))
  if (typeof value === 'object' && value !== null) {
    const nested = Reason.safeParse(value)
    return nested.success ? redactReason(nested.data) : HIDDEN
  }
  return typeof value !== 'string' || value === '' || SHOWN.has(name) ? value : HIDDEN
}

/** Waiting reasons that say nothing about machines, limits or other sessions. */
const PUBLIC_WAITS: ReadonlySet<string> = new Set<ReasonCode>([
  'waiting_for_placement',
  'session_starts_elsewhere',
  'no_machine_free',
  'topology_not_fetched',
])
const PUBLIC_REFUSALS: ReadonlySet<string> = new Set<ReasonCode>(['definition_deleted', 'no_machine_fits'])

/** Why a session waits, for its owner: whether to wait or to ask for help, not how the scheduler decides. */
export function redactWaitingReason(because: Reason): Reason {
  const lasting = unschedulableBecause(because)
  if (lasting === null) return PUBLIC_WAITS.has(because.code) ? because : reason('no_machine_free')
  return PUBLIC_REFUSALS.has(lasting.code) ? because : unschedulable(reason('no_machine_fits'))
}

const PLACEMENTS: ReadonlySet<string> = new Set<ReasonCode>([
  'placed_as_planned',
  'placed_on_fullest',
  'placed_on_empty',
  'capacity_already_reserved',
])

/** Where a session was placed, for its owner: not how the workers were compared. */
export const redactPlacement = (because: Reason): Reason =>
  PLACEMENTS.has(because.code) ? reason('placed_on', { worker: String(because.params.worker) }) : because
