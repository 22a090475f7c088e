import { type Losses, mayLose, recentLosses } from '@lcm/domain/fleet/brake'
import { toMs } from '@lcm/domain/instant'
import type { CmlSight, Ec2Sight, WorkerPolicy } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'

/** A new machine may be invisible for minutes. */
const LAUNCH_GRACE_MS = 5 * 60_000
/** So many times in a row CML must be silent before it is looked at more closely. */
const SILENCES = 3

/**
 * What earlier looks saw, as far as the next one needs it. Memory only: a new leader starts over, which makes it slower to
 * believe in an absence and never quicker.
 */
export interface ObservationMemory {
  /** The machine was not in a complete answer. Confirmed only by an earlier miss and past the grace after its launch. */
  missed(worker: Worker, clock: Pick<Clock, 'now' | 'monotonic'>): Ec2Sight
  found(workerId: string): void
  /** The cloud was asked for a machine just now: absence is counted anew. */
  launchSent(workerId: string): void
  /** The last look at this address, if it is too recent to look again. */
  recentCml(workerId: string, url: string, nowMs: number): CmlSight | null
  sawCml(workerId: string, url: string, look: Omit<CmlSight, 'ready_streak'>, nowMs: number): CmlSight
  /** CML is not being waited for: what it once said no longer counts. */
  forgetCml(workerId: string): void
  /** Whether CML answered somebody who asked for something else. */
  heardCml(workerId: string, answered: boolean): void
  /** Whether CML has been silent for so long that it should be looked at. */
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
      // A timer may fire a little early; that must not cost a whole interval.
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

/** Which machines are there and which are missed. */
function absentMachines(missesApartMs: number) {
  const firstMissAt = new Map<string, number>()
  const present = new Set<string>()
  const lost = new Set<string>()
  let losses: Losses = []

  /** Whether one more machine may be believed to be gone, when so many are. */
  function isBelieved(worker: Worker, nowMs: number): boolean {
    // Whoever wanted it gone is not surprised, and what was never there can't vanish.
    if (worker.desired_status === 'TERMINATED' || worker.ec2_instance_id === null || lost.has(worker.id)) return true
    losses = recentLosses(losses, nowMs)
    if (!mayLose(losses, present.size + losses.length, nowMs)) return false
    losses = [...losses, nowMs]
    lost.add(worker.id)
    return true
  }

  return {
    missed(worker: Worker, clock: Pick<Clock, 'now' | 'monotonic'>): Ec2Sight {
      // A wall clock that is set ahead must not make two misses of one hiccup look far apart.
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
