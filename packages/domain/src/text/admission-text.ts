import type { SessionAdmission } from '../calendar/session-admission.ts'

/** Whether a session can rely on its capacity, in a sentence. */
export function admissionText({ kind, at_risk }: Pick<SessionAdmission, 'kind' | 'at_risk'>): string {
  if (kind === 'best_effort')
    return `Best effort: ${at_risk?.message ?? 'it gets the capacity that promised sessions leave'}`
  return at_risk === null ? 'Capacity is promised' : `At risk: ${at_risk.message}`
}

/** The same in a table; empty for the normal case. */
export const admissionNote = ({ kind, at_risk }: Pick<SessionAdmission, 'kind' | 'at_risk'>): string =>
  kind === 'best_effort' ? 'best effort' : at_risk === null ? '' : 'at risk'
