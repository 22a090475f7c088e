export { type Backoff, type BackoffOptions, exponentialBackoff } from './backoff.ts'
export { type Clock, sleepOn, systemClock } from './clock.ts'
export {
  leaderElectedHostedService,
  type PresetDeps,
  type ReconciledResource,
  reconciliationHostedService,
  type WatchedResource,
  watchTriggeredHostedService,
} from './controller-presets.ts'
export {
  generatedInstanceId,
  LEADER_ELECTION_DEFAULTS,
  type LeaderElectionConfig,
  RECONCILIATION_DEFAULTS,
  type ReconciliationConfig,
  WATCH_DEFAULTS,
  type WatchConfig,
} from './default-config.ts'
export type { Election, LeaderStatus, Leadership } from './election.ts'
export { allOf, type HostedService, HostedServiceError, host, leaderElected } from './hosted-service.ts'
export { aborted, type LinkedAbort, linkedAbort } from './linked-abort.ts'
export { type Logger, silentLogger } from './logger.ts'
export { type Counter, type Gauge, type Histogram, type Labels, type Meter, silentMeter } from './meter.ts'
export { PIPE_ITEMS_MAX, type Pipe, type PipeOptions, pipe } from './pipe.ts'
export type { ReconcileContext, ReconciliationOptions } from './reconciliation/loop.ts'
export {
  type Reconciliation,
  type ReconciliationHealth,
  reconciliation,
} from './reconciliation/reconciliation-service.ts'
export {
  gone,
  type ReconciliationResult,
  type ResourceState,
  type ResourceStatus,
  requeue,
  retry,
  skip,
  success,
} from './reconciliation/resource-state.ts'
export {
  every,
  LIST_PAGE_SIZE,
  type ListOptions,
  type ListPages,
  type PollOptions,
  poll,
  startupSweep,
} from './triggers/poll-trigger.ts'
export type { Listing, Trigger, TriggerContext, WatchHealth } from './triggers/trigger.ts'
export {
  isCompacted,
  WatchCompacted,
  type WatchEntry,
  type WatchListing,
  type WatchMessage,
  type WatchSource,
} from './triggers/watch-source.ts'
export { type WatchOptions, watch } from './triggers/watch-trigger.ts'
export {
  type Again,
  type QueueListing,
  WORK_QUEUE_KEYS_MAX,
  type WorkItem,
  type WorkQueue,
  WorkQueueFull,
  type WorkQueueOptions,
  workQueue,
} from './work-queue.ts'
