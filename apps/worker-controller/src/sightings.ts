import { toMs } from '@lcm/domain/instant'
import type { CmlSight, Ec2Sight } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'

/** Far enough apart that two misses are not one hiccup. */
const MISSES_APART_MS = 60_000
/** A new machine may be invisible for minutes. */
const LAUNCH_GRACE_MS = 5 * 60_000

/**
 * What earlier looks saw, as far as the next one needs it. Memory only: a new leader starts over, which makes it slower to
 * believe in an absence and never quicker.
 */
export interface Sightings {
  /** The machine was not in a complete answer. Confirmed only by an earlier miss and past the grace after its launch. */
  missed(worker: Worker, nowMs: number): Ec2Sight
  found(workerId: string): void
  /** The cloud was asked for a machine just now: absence is counted anew. */
  launchSent(workerId: string): void
  /** The last look at this address, if it is too recent to look again. */
  recentCml(workerId: string, url: string, nowMs: number): CmlSight | null
  sawCml(workerId: string, url: string, look: Omit<CmlSight, 'ready_streak'>, nowMs: number): CmlSight
  /** CML is not being waited for: what it once said no longer counts. */
  forgetCml(workerId: string): void
  forget(workerId: string): void
  /** A new term starts over. */
  clear(): void
}

interface Look {
  readonly url: string
  readonly atMs: number
  readonly sight: CmlSight
}

export function sightings(probeIntervalMs: number): Sightings {
  const firstMissAt = new Map<string, number>()
  const looks = new Map<string, Look>()
  return {
    missed(worker, nowMs) {
      const first = firstMissAt.get(worker.id) ?? nowMs
      firstMissAt.set(worker.id, first)
      // An open attempt may have been repeated a moment ago, so the grace is counted from the first miss since then.
      const apartMs = worker.launch?.state === 'open' ? LAUNCH_GRACE_MS : MISSES_APART_MS
      const launchedAt = worker.launch === null ? 0 : toMs(worker.launch.requested_at)
      const confirmed = nowMs - first >= apartMs && nowMs - launchedAt >= LAUNCH_GRACE_MS
      const seconds = Math.round((nowMs - first) / 1000)
      return { kind: 'absent', confirmed, because: `EC2 has not shown its machine for ${seconds} s` }
    },
    found: workerId => void firstMissAt.delete(workerId),
    launchSent: workerId => void firstMissAt.delete(workerId),
    recentCml(workerId, url, nowMs) {
      const last = looks.get(workerId)
      // A timer may fire a little early; that must not cost a whole interval.
      return last?.url === url && nowMs - last.atMs < probeIntervalMs * 0.9 ? last.sight : null
    },
    sawCml(workerId, url, look, nowMs) {
      const last = looks.get(workerId)
      const before = last?.url === url ? last.sight.ready_streak : 0
      const sight = { ...look, ready_streak: look.stage === 'READY' ? before + 1 : 0 }
      looks.set(workerId, { url, atMs: nowMs, sight })
      return sight
    },
    forgetCml: workerId => void looks.delete(workerId),
    clear() {
      firstMissAt.clear()
      looks.clear()
    },
    forget(workerId) {
      firstMissAt.delete(workerId)
      looks.delete(workerId)
    },
  }
}
