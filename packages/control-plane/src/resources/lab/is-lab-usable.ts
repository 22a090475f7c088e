import type { LabRecord } from '@lcm/domain/lab/lab-record'

/** Whether the lab is gone from its worker, as far as LCM knows. */
export const isLabGone = ({ status }: LabRecord): boolean => status === 'DELETED' || status === 'ORPHANED'

/** Whether the lab is, or is about to become, the lab of its session. */
export const isLabUsable = (lab: LabRecord): boolean => !isLabGone(lab) && lab.pending_action?.action !== 'delete'

/** A lab in ERROR does not keep its session from getting another one. */
export const isLabCurrent = (lab: LabRecord): boolean => isLabUsable(lab) && lab.status !== 'ERROR'
