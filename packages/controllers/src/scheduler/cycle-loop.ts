import { CHANGE_KEYS } from '@lcm/contract/change-keys'
import type { ChangeHint, ChangeKeys } from '@lcm/coordination/change-keys'
import {
  type Logger,
  type Meter,
  poll,
  type Reconciliation,
  reconciliation,
  startupSweep,
  type Trigger,
  watch,
} from '@lcm/runtime'
import { type CycleParts, cycle } from './reconciler.ts'

/** All waiting sessions are decided together, so that there is one key for all of them. */
const CYCLE = 'cycle'
/** Whoever books is waiting for it; many at once are folded. */
const SESSIONS_DEBOUNCE_MS = 100
const WORKERS_DEBOUNCE_MS = 500
const FIRST_AFTER_MS = 2_000

export interface CycleLoopParts extends CycleParts {
  readonly changeKeys: ChangeKeys
  readonly logger: Logger
  readonly meter: Meter
}

/** One cycle at a time: on news of sessions and workers that matter, and every half minute. */
export function cycleLoop(parts: CycleLoopParts): Reconciliation {
  const { board, config, clock, logger, meter } = parts
  const everything = { list: () => onePage(CYCLE), keyOf: () => CYCLE }
  const isNewsOfSession = ({ id, version, status, deleted }: ChangeHint) =>
    status === 'PENDING' && deleted !== true && !board.isEcho(id, version)
  const isNewsOfWorker = (hint: ChangeHint) => isLeaving(hint) || board.isAnybodyWaiting()
  const polls = poll({
    ...everything,
    intervalMs: config.reconcileIntervalMs,
    initialDelayMs: config.reconcileIntervalMs,
    listsEverything: true,
  })
  return reconciliation<string>({
    name: 'resource-scheduler',
    metricPrefix: 'resource_scheduler',
    clock,
    logger,
    meter,
    concurrency: 1,
    triggers: [
      watched(parts, CHANGE_KEYS.sessions, { debounceMs: SESSIONS_DEBOUNCE_MS, wakes: isNewsOfSession }),
      watched(parts, CHANGE_KEYS.workers, { debounceMs: WORKERS_DEBOUNCE_MS, wakes: isNewsOfWorker }),
      startupSweep({ ...everything, delayMs: FIRST_AFTER_MS }),
      ...(config.pollingEnabled ? [polls] : []),
    ],
    reconcile: (_, context) => cycle(parts, context),
  })
}

/** Whoever has a place there is to look for another one. */
const isLeaving = ({ status, desired_status: wanted }: ChangeHint): boolean =>
  status === 'TERMINATED' || status === 'TERMINATING' || wanted === 'STOPPED' || wanted === 'TERMINATED'

async function* onePage<T>(item: T): AsyncGenerator<readonly T[]> {
  yield [item]
}

function watched(
  { changeKeys }: CycleLoopParts,
  prefix: string,
  options: { readonly debounceMs: number; wakes(hint: ChangeHint): boolean },
): Trigger<string> {
  const trigger = watch<ChangeHint>({
    name: `watch of ${prefix}`,
    source: changeKeys.source(prefix),
    parseKey: key => (key.startsWith(prefix) ? CYCLE : null),
    isUrgent: options.wakes,
    ...options,
  })
  // The end of one resource is not the end of the cycle, which goes by the same key for all of them.
  return { ...trigger, run: context => trigger.run({ ...context, forget: () => undefined }) }
}
