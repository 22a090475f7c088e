import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { LabletSession } from '../session/lablet-session.ts'
import type { Worker } from '../worker/worker.ts'
import type { PlannedMachine, PlannedStep } from './plan.ts'

type Slot = Pick<LabletSession, 'id' | 'timeslot'>

/** Where the plan has a session that is placed later, and what happens there first. `worker`: that of the machine. */
export function plannedPlace(
  machine: PlannedMachine,
  worker: Worker | null,
  { session, sessions }: { session: Slot; sessions: ReadonlyMap<string, Slot> },
): Reason {
  const start = machine.steps.find(step => isStart(step) && step.session_ids.includes(session.id))
  if (worker === null) return reason('planned_purchase', { template: machine.template_name, at: start?.at ?? null })
  if (start !== undefined)
    return reason('planned_wake', { worker: worker.name, at: start.at, sessions: start.session_ids.length })
  const ids = new Set([...Object.keys(worker.reservations), ...machine.session_ids])
  const ends = [...ids].flatMap(id => sessions.get(id)?.timeslot.end ?? []).filter(end => isBefore(end, session))
  const until = ends.toSorted().at(-1)
  return until === undefined
    ? reason('planned_on', { worker: worker.name })
    : reason('planned_takeover', { worker: worker.name, sessions: ends.length, until })
}

const isStart = ({ kind }: PlannedStep): boolean => kind === 'wake' || kind === 'buy'
const isBefore = (end: string, { timeslot }: Slot): boolean => toMs(end) <= toMs(timeslot.start)
