import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { LABS } from '../kinds.ts'
import { impossible, reached, underWay, type Verdict, type Waited } from '../wait.ts'
import type { Settling } from '../wait-until-settled.ts'

/** Whether the requested action on a lab is done. */
export function judge(lab: LabRecord, requested: LabRecord['pending_action']): Verdict {
  const { pending_action, last_error, status } = lab
  if (pending_action === null) return last_error === null ? reached : impossible(`is ${status}: ${last_error}`)
  if (pending_action.action === requested?.action) return underWay
  return impossible(`has a new pending action: ${pending_action.by} requested ${pending_action.action}`)
}

/** Waits until the requested action on a lab is done. */
export const waitedLab = (start: LabRecord): Waited<LabRecord> => ({
  start,
  noun: 'lab',
  name: start.title,
  handle: start.id,
  mayVanish: start.pending_action?.action === 'delete',
  read: (client, signal) => client.call('getLab', { params: { id: start.id }, signal }),
  changed: LABS.changed,
  deleted: LABS.deleted,
  judge: lab => judge(lab, start.pending_action),
  progressText,
})

function progressText({ title, status, pending_action }: LabRecord): string {
  if (pending_action === null) return `${title} is ${status}`
  const error = pending_action.error === null ? '' : ` failed, retrying: ${pending_action.error}`
  return `${title} is ${status}: ${pending_action.action}${error || ' requested'}`
}

export const LAB_SETTLING: Settling<LabRecord> = {
  view: LABS.view,
  waited: waitedLab,
  outcome: (lab, elapsed) => ({ sentence: `${lab.title} is ${lab.status} after ${elapsed}`, lines: [] }),
}
