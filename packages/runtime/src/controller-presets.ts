import { exponentialBackoff } from './backoff.ts'
import type { Clock } from './clock.ts'
import {
  RECONCILIATION_DEFAULTS,
  type ReconciliationConfig,
  WATCH_DEFAULTS,
  type WatchConfig,
} from './default-config.ts'
import type { Election } from './election.ts'
import { leaderElected } from './hosted-service.ts'
import type { Logger } from './logger.ts'
import type { Meter } from './meter.ts'
import type { ReconcileContext } from './reconciliation/loop.ts'
import { type Reconciliation, reconciliation } from './reconciliation/reconciliation-service.ts'
import { gone, type ReconciliationResult, type ResourceState } from './reconciliation/resource-state.ts'
import { type ListPages, poll, startupSweep } from './triggers/poll-trigger.ts'
import type { Trigger } from './triggers/trigger.ts'
import type { WatchSource } from './triggers/watch-source.ts'
import { watch } from './triggers/watch-trigger.ts'

/** Functions that a preset needs for one kind of resource. */
export interface ReconciledResource<R> {
  /** Lists the resources for the poll. */
  readonly listResources: ListPages<R>
  /** Lists all resources for the sweeps. Defaults to `listResources`, which then must list all. */
  readonly listAllResources?: ListPages<R>
  keyOf(resource: R): string
  /** Null for a missing resource; throws when the read fails. */
  fetchResource(key: string, signal: AbortSignal): Promise<R | null>
  reconcile(resource: R, context: ReconcileContext<R>): Promise<ReconciliationResult>
  needsAttention?(resource: R, seen: ResourceState | undefined, nowMs: number): boolean
  /** Further triggers, such as a slow full sweep with `every`. */
  readonly moreTriggers?: readonly Trigger<R>[]
}

export interface WatchedResource<R, Hint> extends ReconciledResource<R> {
  watchSource(prefix: string): WatchSource<Hint>
  parseWatchKey(changeKey: string): string | null
  isUrgent?(hint: Hint): boolean
  wakes?(hint: Hint): boolean
  goesFirst?(hint: Hint): boolean
}

export interface PresetDeps {
  readonly clock: Clock
  readonly logger?: Logger
  readonly meter?: Meter
}

/** Seeds: ReconciliationHostedService[T] = the loop with polling. */
export function reconciliationHostedService<R>(
  resource: ReconciledResource<R>,
  config: Partial<ReconciliationConfig>,
  deps: PresetDeps,
): Reconciliation {
  return loopOf(resource, withDefaults(config), deps, [])
}

/** Seeds: LeaderElectedHostedService[T] = the same, run by the leader only. */
export function leaderElectedHostedService<R>(
  resource: ReconciledResource<R>,
  config: Partial<ReconciliationConfig>,
  deps: PresetDeps & { readonly election: Election },
): Reconciliation {
  return leaderElected(reconciliationHostedService(resource, config, deps), deps.election)
}

/**
 * Seeds: WatchTriggeredHostedService[T] = polling, watch and start-up sweep, run by the leader only. Leave `election`
 * out where the loop is part of a group that is elected as a whole: `leaderElected(allOf(…), election)`.
 */
export function watchTriggeredHostedService<R, Hint>(
  resource: WatchedResource<R, Hint>,
  config: Partial<ReconciliationConfig>,
  watching: Partial<WatchConfig>,
  deps: PresetDeps & { readonly election?: Election },
): Reconciliation {
  const triggers = watchTriggers(resource, { ...WATCH_DEFAULTS, ...watching })
  const loop = loopOf(resource, withDefaults(config), deps, triggers)
  return deps.election ? leaderElected(loop, deps.election) : loop
}

const withDefaults = (config: Partial<ReconciliationConfig>) => ({ ...RECONCILIATION_DEFAULTS, ...config })

/** The watch comes first, so that no change is missed between the sweep's list and the stream. */
function watchTriggers<R, Hint>(resource: WatchedResource<R, Hint>, config: WatchConfig): Trigger<R>[] {
  return [
    ...(config.enabled ? [watchOf(resource, config)] : []),
    ...(config.startupReconcileEnabled ? [sweepOf(resource, config)] : []),
  ]
}

const watchOf = <R, Hint>(resource: WatchedResource<R, Hint>, config: WatchConfig): Trigger<R> =>
  watch<Hint>({
    source: resource.watchSource(config.prefix),
    parseKey: changeKey => resource.parseWatchKey(changeKey),
    isUrgent: hint => resource.isUrgent?.(hint) ?? false,
    wakes: hint => resource.wakes?.(hint) ?? true,
    goesFirst: hint => resource.goesFirst?.(hint) ?? false,
    debounceMs: config.debounceMs,
    reconnectDelayMs: config.reconnectDelayMs,
    reconnectDelayMaxMs: config.reconnectDelayMaxMs,
    reconnectAttemptsMax: config.maxReconnectAttempts,
  })

const sweepOf = <R, Hint>(resource: WatchedResource<R, Hint>, config: WatchConfig): Trigger<R> =>
  startupSweep({
    list: resource.listAllResources ?? resource.listResources,
    keyOf: found => resource.keyOf(found),
    delayMs: config.startupReconcileDelayMs,
  })

const pollOf = <R>(resource: ReconciledResource<R>, config: ReconciliationConfig): Trigger<R> =>
  poll({
    list: resource.listResources,
    keyOf: found => resource.keyOf(found),
    intervalMs: config.intervalMs,
    initialDelayMs: config.initialDelayMs,
    needsAttention: (found, seen, nowMs) => resource.needsAttention?.(found, seen, nowMs) ?? true,
    listsEverything: resource.listAllResources === undefined,
  })

function loopOf<R>(
  resource: ReconciledResource<R>,
  config: ReconciliationConfig,
  deps: PresetDeps,
  triggers: readonly Trigger<R>[],
): Reconciliation {
  const { backoffBaseMs: baseMs, backoffMultiplier: multiplier, backoffMaxMs: maxMs } = config
  const polls = config.pollingEnabled ? [pollOf(resource, config)] : []
  return reconciliation<R>({
    ...deps,
    name: config.serviceName,
    metricPrefix: config.metricPrefix,
    concurrency: config.maxConcurrent,
    backoff: exponentialBackoff({ baseMs, multiplier, maxMs }),
    triggers: [...triggers, ...(resource.moreTriggers ?? []), ...polls],
    reconcile: (key, context) => reconcileFound(resource, key, context),
  })
}

async function reconcileFound<R>(resource: ReconciledResource<R>, key: string, context: ReconcileContext<R>) {
  const found = context.listed ?? (await resource.fetchResource(key, context.signal))
  return found === null ? gone('resource is gone') : resource.reconcile(found, context)
}
