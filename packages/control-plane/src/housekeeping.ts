import { type Instant, toInstant } from '@lcm/domain/instant'
import type { HostedService, Logger } from '@lcm/runtime'
import type { Collection, Document } from '@lcm/store/store'
import type { AccessAudit } from './access/access-audit.ts'
import type { Api } from './api-context.ts'
import { deleteExpiredRequests } from './http/idempotency.ts'
import { maintainCalendar } from './resources/calendar/calendar-housekeeping.ts'
import { STREAMS } from './resources/journal/entries.ts'
import { assignAllSeats } from './resources/license/assign-seats.ts'
import { listAll } from './resources/list-documents.ts'
import { pruneNotifications } from './resources/notification/notification-commands.ts'
import { finishMerges } from './resources/person/merge-people.ts'
import { maintainSaves } from './resources/save/save-housekeeping.ts'
import { deleteSilentInstances } from './resources/service/commands.ts'
import { deleteFinished, maintainSessions } from './resources/session/session-housekeeping.ts'
import { currentSettings } from './resources/settings/queries.ts'
import { pruneTimings } from './resources/timing/forget-timings.ts'
import { recordMigratedApprovals } from './resources/worker/approve-worker.ts'

/** Queries read the outboxes too, so nothing waits for this. */
const FLUSH_MS = 10_000
const MAINTAIN_MS = 60_000
const PRUNE_MS = 10 * 60_000
const BATCH = 1000
const DAY_MS = 86_400_000
/** Audit, transitions and cost are kept longer than decisions. */
const HISTORY_DAYS = 400
const SAMPLE_DAYS = 7
/** Longer than any client takes to resume its event stream. */
const REMOVAL_DAYS = 1

/** Documents that end by themselves, such as browser sessions. */
async function deleteExpired<T extends Document & { readonly expires_at: Instant }>(
  { clock }: Api,
  collection: Collection<T>,
): Promise<void> {
  const now = toInstant(clock.now())
  for (const document of await listAll(collection)) if (document.expires_at <= now) await collection.remove(document)
}

/** Finishes what commits left pending and deletes what is too old. Any number of replicas may run it at once. */
export function housekeeping(api: Api, log: Logger, audit: Pick<AccessAudit, 'flush'>): HostedService {
  const keepSaves = maintainSaves(api)
  const daysAgo = (days: number) => toInstant(api.clock.now() - days * DAY_MS)

  async function untilDone(step: () => Promise<number>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await step()) >= BATCH) await api.clock.sleep(0, signal)
  }

  async function prune(signal: AbortSignal): Promise<void> {
    const { journal, series } = api.store
    const { journal_retention_days } = await currentSettings(api)
    await untilDone(() => journal.prune(STREAMS.decision, daysAgo(journal_retention_days), BATCH), signal)
    for (const stream of [STREAMS.audit, STREAMS.transition, STREAMS.scaling, STREAMS.cost])
      await untilDone(() => journal.prune(stream, daysAgo(HISTORY_DAYS), BATCH), signal)
    await untilDone(() => journal.prune(STREAMS.removal, daysAgo(REMOVAL_DAYS), BATCH), signal)
    await untilDone(() => series.prune(daysAgo(SAMPLE_DAYS), BATCH), signal)
    await deleteExpiredRequests(api, BATCH)
    await deleteExpired(api, api.browserSessions)
    await deleteExpired(api, api.loginCodes)
    await deleteSilentInstances(api)
    await pruneNotifications(api)
    await deleteFinished(api, journal_retention_days)
    await pruneTimings(api)
  }

  return {
    name: 'housekeeping',
    async run(signal) {
      let prunedAt = Number.NEGATIVE_INFINITY
      let maintainedAt = Number.NEGATIVE_INFINITY
      let areApprovalsRecorded = false
      while (!signal.aborted) {
        try {
          if (!areApprovalsRecorded) await recordMigratedApprovals(api)
          areApprovalsRecorded = true
          await untilDone(() => api.store.flushOutbox(BATCH), signal)
          if (api.clock.monotonic() - maintainedAt >= MAINTAIN_MS) {
            maintainedAt = api.clock.monotonic()
            await maintainSessions(api, signal)
            await maintainCalendar(api, log)
            await finishMerges(api, signal)
            await assignAllSeats(api)
            await keepSaves(signal)
            await audit.flush()
          }
          if (api.clock.monotonic() - prunedAt >= PRUNE_MS) {
            prunedAt = api.clock.monotonic()
            await prune(signal)
          }
        } catch (err) {
          log.error({ err }, 'housekeeping failed; retrying')
        }
        await api.clock.sleep(FLUSH_MS, signal)
      }
    },
  }
}
