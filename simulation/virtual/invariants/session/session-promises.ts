import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Clock } from '@lcm/runtime/clock'
import type { Disturbances } from '../../world/disturbances.ts'
import type { EventFollower } from '../../world/event-follower.ts'
import type { OwnerChanges } from '../../world/owner-changes.ts'
import { endedBySilence } from './ended-by-silence.ts'
import { healthTruth } from './health-truth.ts'
import { blamedOnPerson } from './lab-after-machine-restart.ts'
import { type LabTruthParts, labTruths } from './lab-truth.ts'
import { lostSight, startedAgainstOwner, stoppedLabs } from './labs-keep-running.ts'
import { movedSessions } from './moved-sessions.ts'

export interface SessionPromiseParts extends Pick<LabTruthParts, 'cloud' | 'access'> {
  readonly following: EventFollower
  readonly clock: Pick<Clock, 'now'>
  readonly disturbances: Disturbances
  readonly ownerChanges: OwnerChanges
  /** Whether controllers poll often enough to report health within seconds. */
  readonly isPolledOften: boolean
}

export interface SessionPromises {
  /** Called for every change of a session; returns violations. */
  changed(session: LabletSession, before: LabletSession | undefined): string[]
  /** Called whenever labs are counted; returns violations. */
  step(): string[]
  /** Called before LCM starts a lab; returns violations. */
  starting(labId: string, sessionId: string | null): string[]
}

/** Sessions keep their promise whatever happens to their machines: judged by what the simulated cloud knows. */
export function sessionPromises(parts: SessionPromiseParts): SessionPromises {
  const { following, clock } = parts
  const truthOf = labTruths(parts)
  const shared = { ...parts, truthOf }
  const health = healthTruth(shared)
  const sight = lostSight(shared)
  const blamed = blamedOnPerson(shared)
  const isUp = ({ status }: LabletSession) => status === 'READY' || status === 'RUNNING'
  const sessionsUp = () => [...following.sessions.values()].filter(isUp)
  const steps = [
    sight.step,
    stoppedLabs(shared),
    () => sessionsUp().flatMap(blamed),
    movedSessions(shared),
    ...(parts.isPolledOften ? [health.step] : []),
  ]
  return {
    changed(session, before) {
      const wrong = [...blamed(session), ...(parts.isPolledOften ? health.changed(session, before) : [])]
      if (before === undefined) return wrong
      const worker = following.workers.get(before.worker_id ?? '')
      const ended = { before, after: session, worker, truth: truthOf(before), nowMs: clock.now() }
      return [...wrong, ...endedBySilence(ended)]
    },
    step: () => steps.flatMap(step => step()),
    starting: (labId, sessionId) =>
      startedAgainstOwner(following.sessions.get(sessionId ?? ''), labId, { ...shared, sightLostMs: sight.sinceMs }),
  }
}
