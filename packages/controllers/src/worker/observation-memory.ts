import { type Losses, mayLose, recentLosses } from '@lcm/domain/fleet/brake'
import { toMs } from '@lcm/domain/instant'
import type { CmlSight, Ec2Sight, WorkerPolicy } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'

/** EC2 may not show a new machine for minutes. */
const LAUNCH_GRACE_MS = 5 * 60_000
/** Unanswered requests in a row before CML is probed. */
const SILENCES = 3

/**
 * What earlier looks saw, as far as the next one needs it. Memory only: a new leader starts over, which makes it slower to
 * believe in an absence and never quicker.
 */
export interface ObservationMemory {
  /** The machine was missing in a complete response. Confirmed only after an earlier miss and the grace period of its launch. */
  missed(worker: Worker, clock: Pick<Clock, 'now' | 'monotonic'>): Ec2Sight
  found(workerId: string): void
  /** A launch was just sent, so the absence is counted from now. */
  launchSent(workerId: string): void
  /** The last probe of this address, if it is too recent to repeat. */
  recentCml(workerId: string, url: string, nowMs: number): CmlSight | null
  sawCml(workerId: string, url: string, look: Omit<CmlSight, 'ready_streak'>, nowMs: number): CmlSight
  /** Drops the last probe: nothing waits for CML now. */
  forgetCml(workerId: string): void
  /** Notes whether CML answered another request. */
  heardCml(workerId: string, answered: boolean): void
  /** Whether CML has not answered for so long that it should be probed. */
  isSilent(workerId: string): boolean
  forget(workerId: string): void
}

interface Look {
  readonly url: string
  readonly atMs: number
  readonly sight: CmlSight
}

export function observationMemory(policy: Pick<WorkerPolicy, 'probeIntervalMs' | 'missesApartMs'>): ObservationMemory {
  const { probeIntervalMs } = policy
  const absences = absentMachines(policy.missesApartMs)
  const looks = new Map<string, Look>()
  const silences = new Map<string, number>()
  return {
    ...absences,
    recentCml(workerId, url, nowMs) {
      const last = looks.get(workerId)
      // A timer may fire slightly early, which must not cost a whole interval.
      return last?.url === url && nowMs - last.atMs < probeIntervalMs * 0.9 ? last.sight : null
    },
    sawCml(workerId, url, look, nowMs) {
      const last = looks.get(workerId)
      const before = last?.url === url ? last.sight.ready_streak : 0
      const sight = { ...look, ready_streak: look.stage === 'READY' ? before + 1 : 0 }
      looks.set(workerId, { url, atMs: nowMs, sight })
      if (look.stage === 'READY') silences.delete(workerId)
      return sight
    },
    forgetCml: workerId => void looks.delete(workerId),
    heardCml(workerId, answered) {
      if (answered) silences.delete(workerId)
      else silences.set(workerId, (silences.get(workerId) ?? 0) + 1)
    },
    isSilent: workerId => (silences.get(workerId) ?? 0) >= SILENCES,
    forget(workerId) {
      absences.forget(workerId)
      looks.delete(workerId)
      silences.delete(workerId)
    },
  }
}

/** Tracks present and missing machines. */
function absentMachines(missesApartMs: number) {
  const firstMissAt = new Map<string, number>()
  const present = new Set<string>()
  const lost = new Set<string>()
  let losses: Losses = []

  /** Whether one more loss is plausible, given the recent ones. */
  function isBelieved(worker: Worker, nowMs: number): boolean {
    // A requested termination is no loss, and a machine that never existed can't vanish.
    if (worker.desired_status === 'TERMINATED' || worker.ec2_instance_id === null || lost.has(worker.id)) return true
    losses = recentLosses(losses, nowMs)
    if (!mayLose(losses, present.size + losses.length, nowMs)) return false
    losses = [...losses, nowMs]
    lost.add(worker.id)
    return true
  }

  return {
    missed(worker: Worker, clock: Pick<Clock, 'now' | 'monotonic'>): Ec2Sight {
      // Monotonic: a wall clock set ahead must not make two misses look far apart.
      const atMs = clock.monotonic()
      const first = firstMissAt.get(worker.id) ?? atMs
      firstMissAt.set(worker.id, first)
      // An open attempt may have been repeated a moment ago, so the grace is counted from the first miss since then.
      const apartMs = worker.launch?.state === 'open' ? LAUNCH_GRACE_MS : missesApartMs
      const launchedAt = worker.launch === null ? 0 : toMs(worker.launch.requested_at)
      const isLongEnough = atMs - first >= apartMs && clock.now() - launchedAt >= LAUNCH_GRACE_MS
      const seconds = Math.round((atMs - first) / 1000)
      const because = `EC2 has not shown its machine for ${seconds} s`
      if (!isLongEnough) return { kind: 'absent', confirmed: false, because }
      if (isBelieved(worker, atMs)) return { kind: 'absent', confirmed: true, because }
      const doubt = `${because}, but ${losses.length} others vanished within the hour: is this the right account?`
      return { kind: 'absent', confirmed: false, because: doubt }
    },
    found(workerId: string): void {
      firstMissAt.delete(workerId)
      lost.delete(workerId)
      present.add(workerId)
    },
    launchSent: (workerId: string): void => void firstMissAt.delete(workerId),
    forget(workerId: string): void {
      firstMissAt.delete(workerId)
      present.delete(workerId)
      lost.delete(workerId)
    },
  }
}
