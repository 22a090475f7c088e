import { isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Clock } from '@lcm/runtime/clock'
import type { Disturbances } from '../../world/disturbances.ts'
import type { EventFollower } from '../../world/event-follower.ts'
import type { OwnerChanges } from '../../world/owner-changes.ts'
import { blamedOnPerson } from './blamed-on-person.ts'
import { endedBySilence } from './ended-by-silence.ts'
import { healthTruth } from './health-truth.ts'
import { labStarts } from './lab-starts.ts'
import { type LabTruthParts, labTruths } from './lab-truth.ts'
import { lostSight, startedAgainstOwner, stoppedLabs } from './labs-keep-running.ts'
import { movedSessions } from './moved-sessions.ts'
import { repeatedMoves } from './repeated-moves.ts'

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
  const starts = labStarts(clock)
  const sessionsUp = () => [...following.sessions.values()].filter(({ status }) => isUp(status))
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
      return [...wrong, ...endedBySilence(ended), ...repeatedMoves(session, worker)]
    },
    step: () => steps.flatMap(step => step()),
    starting(labId, sessionId) {
      const session = following.sessions.get(sessionId ?? '')
      if (session === undefined) return []
      const truth = truthOf(session)
      const looping = truth.lab?.id === labId ? starts(session.id, truth.lab, truth) : []
      return [...looping, ...startedAgainstOwner(session, labId, { ...shared, sightLostMs: sight.sinceMs })]
    },
  }
}
