import type { Machines } from '@lcm/cloud/gathered'
import { recentLosses } from '@lcm/domain/fleet/brake'
import { decideOrphan, type Orphan } from '@lcm/domain/fleet/orphans'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { toInstant } from '@lcm/domain/instant'
import type { Logger } from '@lcm/runtime'
import type { DecisionLog } from '@lcm/service/decision-log'

export interface OrphanParts {
  readonly machines: Pick<Machines, 'power'>
  readonly decisions: Pick<DecisionLog, 'note'>
  readonly logger: Logger
  /** After how long a mark is looked at again. */
  readonly intervalMs: number
}

/** All orphans of one look that saw everything. */
export interface FoundOrphans {
  readonly orphans: readonly { readonly region: string; readonly orphan: Orphan }[]
  readonly settings: Pick<SettingValues, 'orphan_action'>
  readonly fleetSize: number
  readonly nowMs: number
}

export interface OrphanWatch {
  /** What another term has marked is marked anew: a new leader is slower to act, never quicker. */
  beginTerm(): void
  deal(found: FoundOrphans, term: { epoch: number; signal: AbortSignal }): Promise<void>
  plan(): readonly PlannedAction[]
}

/** Machines of ours that no record stands for: marked, confirmed, told of, and destroyed only where that is asked for. */
export function orphanWatch({ machines, decisions, logger, intervalMs }: OrphanParts): OrphanWatch {
  const markedAt = new Map<string, number>()
  const plan = new Map<string, PlannedAction>()
  let terminations: number[] = []

  async function destroy(id: string, region: string, nowMs: number, signal: AbortSignal): Promise<void> {
    // Counted before it is asked for: a call that fails may have had its effect.
    terminations.push(nowMs)
    try {
      const state = await machines.power(region, 'terminate', id, signal)
      logger.warn({ instance: id, region, state }, 'a machine of ours that no record stands for was terminated')
    } catch (err) {
      logger.warn({ err, instance: id, region }, 'an orphan could not be terminated')
    }
  }

  return {
    plan: () => [...plan.values()],
    beginTerm() {
      markedAt.clear()
      plan.clear()
    },
    async deal(found, { epoch, signal }) {
      const { nowMs } = found
      terminations = recentLosses(terminations, nowMs)
      const seen = new Set(found.orphans.map(({ orphan }) => orphan.instance.instance_id))
      for (const id of [...markedAt.keys()]) if (!seen.has(id)) markedAt.delete(id)
      const before = new Map(plan)
      plan.clear()
      for (const { region, orphan } of found.orphans) {
        const id = orphan.instance.instance_id
        const { action, because } = decideOrphan(orphan, { markedAt, terminations }, found, nowMs)
        markedAt.set(id, markedAt.get(id) ?? nowMs)
        const dueMs = nowMs + (action === 'mark' ? intervalMs : 0)
        const planned = plannedFor({ id, region, action, because, dueMs })
        plan.set(id, planned)
        // One that is left where it is needs to be told of only once.
        if (action === 'terminate' || before.get(id)?.because !== planned.because)
          decisions.note(planned.resource, epoch, noteOf(planned, { instance_id: id, region }))
        if (action === 'terminate') await destroy(id, region, nowMs, signal)
      }
    },
  }
}

const plannedFor = (about: {
  id: string
  region: string
  action: string
  because: string
  dueMs: number
}): PlannedAction => ({
  resource: `fleet:${about.id}`,
  action: `orphan_${about.action}`,
  because: `${about.id} in ${about.region}: ${about.because}`,
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
