import type { Client } from '@lcm/client/client'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import { CloudError } from '@lcm/cloud/errors'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { labsUp } from '@lcm/domain/worker/decision/restart'
import type { LostLabs } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'

/** Samples are a minute apart. */
const SAMPLES_MAX = 10

export interface LostLabsParts {
  readonly client: Client
  readonly cml: Pick<CmlSystem, 'activity' | 'stats'>
  readonly clock: Clock
  /** The workers whose nodes were counted in this term. */
  counted(): Set<string>
  onLost(worker: Worker, lost: LostLabs): void
}

/** Finds a restart that was too short for a probe to miss: nodes are gone that no request stopped. */
export interface LostLabsWatch {
  /** Takes the number of running nodes that CML has just reported. A CML that fails is no error. */
  saw(worker: Worker, login: CmlLogin, nodes: number | null, signal: AbortSignal): Promise<void>
}

export function lostLabsWatch({ client, cml, clock, counted, onLost }: LostLabsParts): LostLabsWatch {
  async function findLost(worker: Worker, login: CmlLogin, nodes: number, signal: AbortSignal): Promise<void> {
    const { is_collected, events } = await cml.activity(login, signal)
    if (!is_collected) return
    const up = labsUp(events, worker.cml.restarted_at)
    // A lab that was started between the two requests is not lost.
    const { running_nodes } = await cml.stats(login, signal)
    const running = Math.max(nodes, running_nodes ?? nodes)
    // A single node may have been shut down on its console. A new leader can't tell: people may have started labs since the restart.
    const isLost = counted().has(worker.id) ? running === 0 && up.nodes > 1 : up.labs > running
    if (up.startedAt === null || !isLost) return
    const upUntil = [up.startedAt, (await lastUpAt(worker.id, signal)) ?? up.startedAt].reduce((a, b) =>
      b > a ? b : a,
    )
    const now = toInstant(clock.now())
    const because = reason('labs_lost', { labs: up.labs, running_nodes: running })
    // The clock of CML may be ahead.
    onLost(worker, { upUntil: upUntil < now ? upUntil : now, because })
  }

  /** The last sample of any leader in which nodes ran. */
  async function lastUpAt(id: string, signal: AbortSignal): Promise<Instant | null> {
    const { items } = await client.call('getWorkerMetrics', { params: { id }, query: { limit: SAMPLES_MAX }, signal })
    return items.find(({ nodes_count }) => nodes_count !== null && nodes_count > 0)?.collected_at ?? null
  }

  return {
    async saw(worker, login, nodes, signal) {
      if (nodes === null) return
      const { id, reservations } = worker
      const mayBeLost = nodes === 0 || !counted().has(id)
      try {
        if (mayBeLost && Object.keys(reservations).length > 0) await findLost(worker, login, nodes, signal)
      } catch (error) {
        if (!(error instanceof CloudError)) throw error
        // Telemetry that is refused stays refused; one that did not answer is asked again with the next number.
        if (error.errorClass === 'transient') return
      }
      counted().add(id)
    },
  }
}
