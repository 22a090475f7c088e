import type { Client } from '@lcm/client/client'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import { CloudError } from '@lcm/cloud/errors'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { labsUp } from '@lcm/domain/worker/decision/restart'
import type { LostLabs } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'

/** Samples are a minute apart. */
const SAMPLES_MAX = 10
/** CML always returns its complete telemetry. */
const READ_AGAIN_MS = 5 * 60_000

export interface LostLabsParts {
  readonly client: Client
  readonly cml: Pick<CmlSystem, 'activity' | 'stats'>
  readonly clock: Clock
  /** By worker whose nodes were counted in this term: when telemetry was last read, if no node ran since. */
  counted(): Map<string, number | null>
  onLost(worker: Worker, lost: LostLabs): void
}

/** Finds a restart that was too short for a probe to miss: nodes are gone that no request stopped. */
export interface LostLabsWatch {
  /**
   * Takes the number of running nodes that CML has just reported. Returns whether it was judged: a number that was not must not be
   * recorded, since the next leader takes a recorded number for judged. A CML that fails is no error.
   */
  saw(worker: Worker, login: CmlLogin, nodes: number | null, signal: AbortSignal): Promise<boolean>
}

export function lostLabsWatch({ client, cml, clock, counted, onLost }: LostLabsParts): LostLabsWatch {
  async function findLost(worker: Worker, login: CmlLogin, nodes: number, signal: AbortSignal): Promise<void> {
    const { is_collected, events } = await cml.activity(login, signal)
    if (!is_collected) return
    const up = labsUp(events, worker.cml.restarted_at)
    // A lab that was started between the two requests is not lost.
    const { running_nodes } = await cml.stats(login, signal)
    const running = Math.max(nodes, running_nodes ?? nodes)
    const mayBeLost = counted().has(worker.id) ? running === 0 && up.nodes > 1 : up.labs > running
    if (up.startedAt === null || !mayBeLost) return
    const last = await lastSamples(worker.id, up.startedAt, signal)
    // Another leader has judged why no node runs.
    if (!counted().has(worker.id) && last[0]?.nodes_count === 0) return
    const lastUp = last.find(({ nodes_count }) => (nodes_count ?? 0) > 0)
    // A single node may have been shut down on its console. A new leader can't tell: people may have started labs since the restart.
    if (counted().has(worker.id) && (lastUp?.nodes_count === 1 || (!lastUp && last.length === SAMPLES_MAX))) return
    const upUntil = lastUp?.collected_at ?? up.startedAt
    const now = toInstant(clock.now())
    const because = reason('labs_lost', { labs: up.labs, running_nodes: running })
    // The clock of CML may be ahead.
    onLost(worker, { upUntil: upUntil < now ? upUntil : now, because })
  }

  /** The last samples of any leader since then, newest first. */
  async function lastSamples(id: string, since: Instant, signal: AbortSignal) {
    const { items } = await client.call('getWorkerMetrics', { params: { id }, query: { limit: SAMPLES_MAX }, signal })
    return items.filter(({ collected_at }) => collected_at > since)
  }

  /** Labs are started again, and may be lost in another restart before their nodes are counted. */
  const isJustRestarted = ({ cml: { restarted_at } }: Worker): boolean =>
    restarted_at !== null && clock.now() - toMs(restarted_at) < READ_AGAIN_MS

  return {
    async saw(worker, login, nodes, signal) {
      if (nodes === null) return false
      const { id, reservations } = worker
      const readMs = nodes > 0 ? null : (counted().get(id) ?? null)
      const isKnown = readMs !== null && clock.monotonic() - readMs < READ_AGAIN_MS && !isJustRestarted(worker)
      const mayBeLost = !counted().has(id) || (nodes === 0 && !isKnown)
      const isRead = mayBeLost && Object.keys(reservations).length > 0
      try {
        if (isRead) await findLost(worker, login, nodes, signal)
      } catch (error) {
        if (!(error instanceof CloudError)) throw error
        // Telemetry that is refused stays refused; one that did not answer is asked again with the next number.
        if (error.errorClass === 'transient') return false
      }
      counted().set(id, isRead && nodes === 0 ? clock.monotonic() : readMs)
      return true
    },
  }
}
