export { type Backoff, type BackoffOptions, exponentialBackoff } from './backoff.ts'
export { type Clock, sleepOn, systemClock } from './clock.ts'
export {
  generatedInstanceId,
  LEADER_ELECTION_DEFAULTS,
  type LeaderElectionConfig,
  RECONCILIATION_DEFAULTS,
  type ReconciliationConfig,
  WATCH_DEFAULTS,
  type WatchConfig,
} from './config.ts'
export { allOf, type HostedService, HostedServiceError, host } from './hosted-service.ts'
export { type Election, type LeaderStatus, type Leadership, leaderElected } from './leadership.ts'
export { aborted, type LinkedAbort, linkedAbort } from './linked-abort.ts'
export { type Logger, silentLogger } from './logger.ts'
export type { ReconciliationHealth } from './loop-health.ts'
export { type Counter, type Gauge, type Histogram, type Labels, type Meter, silentMeter } from './meter.ts'
export { PIPE_ITEMS_MAX, type Pipe, type PipeOptions, pipe } from './pipe.ts'
export {
  leaderElectedHostedService,
  type PresetDeps,
  type ReconciledResource,
  reconciliationHostedService,
  type WatchedResource,
  watchTriggeredHostedService,
} from './presets.ts'
export {
  type ReconcileContext,
  type Reconciliation,
  type ReconciliationOptions,
  reconciliation,
} from './reconciliation.ts'
export type { ResourceState, ResourceStatus } from './resource-state.ts'
export { gone, type ReconciliationResult, requeue, retry, skip, success } from './result.ts'
export type { Listing, Trigger, TriggerContext, WatchHealth } from './trigger.ts'
export {
  every,
  LIST_PAGE_SIZE,
  type ListOptions,
  type ListPages,
  type PollOptions,
  poll,
  startupSweep,
} from './triggers.ts'
export { type WatchOptions, watch } from './watch.ts'
export {
  isCompacted,
  WatchCompacted,
  type WatchEntry,
  type WatchListing,
  type WatchMessage,
  type WatchSource,
} from './watch-source.ts'
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
