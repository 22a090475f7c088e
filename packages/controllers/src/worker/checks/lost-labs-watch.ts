import type { CmlLogin } from '@lcm/cloud/cml-login'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import { CloudError } from '@lcm/cloud/errors'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { labsUp } from '@lcm/domain/worker/decision/restart'
import type { LostLabs } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'

export interface LostLabsParts {
  readonly cml: Pick<CmlSystem, 'activity' | 'stats'>
  readonly clock: Clock
  onLost(worker: Worker, lost: LostLabs): void
}

/** Finds a restart that was too short for a probe to miss: nodes are gone that no request stopped. */
export interface LostLabsWatch {
  /** Takes the number of running nodes that CML has just reported. It never rejects. */
  saw(worker: Worker, login: CmlLogin, nodes: number | null, signal: AbortSignal): Promise<void>
  forget(workerId: string): void
}

export function lostLabsWatch({ cml, clock, onLost }: LostLabsParts): LostLabsWatch {
  const last = new Map<string, { readonly nodes: number; readonly at: Instant }>()

  async function findLost(worker: Worker, login: CmlLogin, nodes: number, signal: AbortSignal): Promise<void> {
    const { is_collected, events } = await cml.activity(login, signal)
    if (!is_collected) return
    const { labs, startedAt } = labsUp(events, worker.cml.restarted_at)
    // A lab that was started between the two requests is not lost.
    const { running_nodes } = await cml.stats(login, signal)
    const running = Math.max(nodes, running_nodes ?? nodes)
    const upUntil = last.get(worker.id)?.at ?? startedAt
    if (upUntil === null || labs <= running) return
    onLost(worker, { upUntil, because: reason('labs_lost', { labs, running_nodes: running }) })
  }

  return {
    async saw(worker, login, nodes, signal) {
      if (nodes === null) return
      const before = last.get(worker.id)
      // A new leader does not know how many there were, and between two numbers they may have come and gone.
      const mayBeLost = before === undefined || nodes === 0 || nodes < before.nodes
      try {
        if (mayBeLost && Object.keys(worker.reservations).length > 0) await findLost(worker, login, nodes, signal)
      } catch (error) {
        if (!(error instanceof CloudError)) throw error
        // Telemetry that is refused stays refused; one that did not answer is asked again with the next number.
        if (error.errorClass === 'transient') return
      }
      last.set(worker.id, { nodes, at: toInstant(clock.now()) })
    },
    forget: workerId => void last.delete(workerId),
  }
}
