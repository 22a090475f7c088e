import type { Client } from '@lcm/client/client'
import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import { decideOrphan, type Orphan, type OrphanVerdict } from '@lcm/domain/fleet/decide-orphan'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason, sameReason } from '@lcm/domain/reason'
import type { PlannedAction } from '@lcm/domain/service-instance'
import type { Logger } from '@lcm/runtime'
import type { DecisionLog } from '../kit/decision-log.ts'

/** Limit of the API for a reason. */

export interface OrphanParts {
  readonly client: Client
  readonly machines: Pick<BatchedCompute, 'powerOne'>
  readonly decisions: Pick<DecisionLog, 'note'>
  readonly logger: Logger
  /** Time between the mark and the confirmation of an orphan. */
  readonly intervalMs: number
}

/** All orphans of one complete listing. */
export interface FoundOrphans {
  readonly orphans: readonly { readonly region: string; readonly orphan: Orphan }[]
  readonly settings: Pick<SettingValues, 'orphan_action'>
  readonly nowMs: number
}

export interface OrphanWatch {
  /** Drops the marks of earlier terms: a new leader is slower to act, never quicker. */
  beginTerm(): void
  deal(found: FoundOrphans, term: { epoch: number; signal: AbortSignal }): Promise<void>
  plan(): readonly PlannedAction[]
}

/** Machines of this fleet without a record: marked, confirmed, reported, and terminated only with `orphan_action: terminate`. */
export function orphanWatch(parts: OrphanParts): OrphanWatch {
  const { machines, decisions, logger, intervalMs } = parts
  const markedAt = new Map<string, number>()
  const plan = new Map<string, PlannedAction>()

  async function destroy(id: string, region: string, signal: AbortSignal): Promise<void> {
    try {
      const state = await machines.powerOne(region, 'terminate', id, signal)
      logger.warn({ instance: id, region, state }, 'terminated an orphan')
    } catch (err) {
      logger.warn({ err, instance: id, region }, 'could not terminate an orphan')
    }
  }

  return {
    plan: () => [...plan.values()],
    beginTerm() {
      markedAt.clear()
      plan.clear()
    },
    async deal(found, term) {
      const { epoch, signal } = term
      const { nowMs } = found
      const seen = new Set(found.orphans.map(({ orphan }) => orphan.instance.instance_id))
      for (const id of [...markedAt.keys()]) if (!seen.has(id)) markedAt.delete(id)
      const before = new Map(plan)
      plan.clear()
      for (const { region, orphan } of found.orphans) {
        const id = orphan.instance.instance_id
        const verdict = decideOrphan(orphan, { markedAt }, found.settings, nowMs)
        const { action, because } =
          verdict.action === 'terminate' ? await permitted(parts, { id, region, verdict }, term) : verdict
        markedAt.set(id, markedAt.get(id) ?? nowMs)
        const dueMs = nowMs + (action === 'mark' ? intervalMs : 0)
        const planned = plannedFor({ id, region, action, because, dueMs })
        plan.set(id, planned)
        // An orphan that stays is reported only once.
        if (action === 'terminate' || !sameReason(before.get(id)?.because ?? null, planned.because))
          decisions.note(planned.resource, epoch, noteOf(planned, { instance_id: id, region }))
        if (action === 'terminate') await destroy(id, region, signal)
      }
    },
  }
}

/** The API counts a termination before it is sent: a call that fails may have had its effect. */
async function permitted(
  { client }: OrphanParts,
  { id, region, verdict }: { id: string; region: string; verdict: OrphanVerdict },
  { epoch, signal }: { epoch: number; signal: AbortSignal },
): Promise<OrphanVerdict> {
  const body = { ec2_instance_id: id, aws_region: region, reason: verdict.because }
  const { granted, because } = await client.call('permitOrphanTermination', { body, epoch, signal })
  return granted
    ? verdict
    : { action: 'hold', because: reason('orphan_held', { cause: verdict.because, refusal: because }) }
}

const plannedFor = (about: {
  id: string
  region: string
  action: string
  because: Reason
  dueMs: number
}): PlannedAction => ({
  resource: `fleet:${about.id}`,
  action: `orphan_${about.action}`,
  because: reason('orphan', { instance_id: about.id, region: about.region, cause: about.because }),
  due_at: toInstant(about.dueMs),
})

const noteOf = ({ action, because }: PlannedAction, seen: { instance_id: string; region: string }) => ({
  action,
  because,
  cause: 'discovery',
  seen,
  guards: [],
  outcome: '',
  duration_ms: 0,
})
