import type { Client } from '@lcm/client/client'
import type { Election, HostedService, Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { fencedWrite } from '../kit/fenced-write.ts'
import type { ResourceSchedulerConfig } from './config.ts'
import type { SchedulerCounters } from './report.ts'

/** A new leader has more urgent work first. */
const FIRST_AFTER_MS = 60_000

export interface CleanupParts {
  readonly client: Client
  readonly election: Election
  readonly clock: Clock
  readonly logger: Logger
  readonly counters: SchedulerCounters
  readonly config: ResourceSchedulerConfig
}

/** Removes records of workers that were terminated long ago. The API chooses them. */
export function cleanupLoop(parts: CleanupParts): HostedService {
  const { clock, config } = parts
  return {
    name: 'cleanup',
    async run(signal, leadership) {
      await clock.sleep(Math.min(FIRST_AFTER_MS, config.cleanupIntervalMs), signal)
      while (!signal.aborted) {
        await cleanUp(parts, leadership?.epoch ?? 0, signal)
        await clock.sleep(config.cleanupIntervalMs, signal)
      }
    },
  }
}

async function cleanUp(parts: CleanupParts, epoch: number, signal: AbortSignal): Promise<void> {
  const { client, election, logger, counters, config } = parts
  try {
    const body = { dry_run: config.cleanupDryRun }
    const { removed, dry_run } = await fencedWrite(
      election,
      () => client.call('cleanUpWorkers', { body, epoch, signal }),
      [],
    )
    if (!dry_run) counters.add('workers_removed', removed.length)
    logger.info({ removed: removed.length, workers: removed.slice(0, 20), dry_run }, 'cleaned up old workers')
  } catch (err) {
    if (signal.aborted) return
    logger.warn({ err }, 'could not clean up old workers')
  }
}
