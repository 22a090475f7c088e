import { type Reason, reason } from '../reason.ts'
import type { LabletSession } from '../session/lablet-session.ts'
import type { WorkerTemplate } from '../template/worker-template.ts'
import type { Worker } from '../worker/worker.ts'
import type { FleetWarning } from './fleet-warning.ts'
import type { SettingValues } from './settings.ts'

interface LostPromises {
  /** Sessions that are at risk. */
  readonly sessions: readonly LabletSession[]
  readonly workers: readonly Pick<Worker, 'name' | 'status' | 'desired_status' | 'pause' | 'cordoned' | 'drain'>[]
  readonly templates: readonly Pick<WorkerTemplate, 'name' | 'enabled'>[]
  readonly settings: Pick<SettingValues, 'max_workers_per_region' | 'scale_up_enabled'>
}

/** Sessions that lost their promised capacity, those that never got any, and what brings it back. */
export function promiseWarnings(lost: LostPromises): FleetWarning[] {
  const waiting = lost.sessions.filter(isAtRisk).toSorted((a, b) => (a.timeslot.start < b.timeslot.start ? -1 : 1))
  return KINDS.flatMap(([kind, id, code]) => {
    const sessions = waiting.filter(({ admission }) => admission.kind === kind)
    const [first] = sessions
    if (first === undefined) return []
    const owners = [...new Set(sessions.map(({ owner, owner_name }) => (owner_name === '' ? owner : owner_name)))]
    const because = reason(code, { sessions: sessions.length, owners, start: first.timeslot.start })
    return [{ id, kind: 'session_at_risk', is_critical: true, reason: because, fix: fixOf(lost, sessions) }]
  })
}

const KINDS = [
  ['admitted', 'promises:lost', 'promises_lost'],
  ['best_effort', 'promises:missing', 'promises_missing'],
] as const

/** A session that waits for its time without capacity that it could rely on. */
export const isAtRisk = ({ status, desired_status, admission }: LabletSession): boolean =>
  admission.at_risk !== null && status === 'PENDING' && desired_status !== 'TERMINATED'

function fixOf({ workers, templates, settings }: LostPromises, sessions: readonly LabletSession[]): Reason {
  const codes = new Set(sessions.map(causeCodeOf))
  const isOff = !settings.scale_up_enabled
  const lacksTemplate = codes.has('capacity_booked_no_template') || codes.has('lab_fits_nowhere')
  const present = workers.filter(({ desired_status }) => desired_status !== 'TERMINATED')
  const namesOf = (isSo: (worker: (typeof workers)[number]) => boolean) => present.filter(isSo).map(({ name }) => name)
  const isFull = codes.has('capacity_booked') || codes.has('capacity_booked_license')
  return reason('fix_promises', {
    limit: isFull && !isOff ? settings.max_workers_per_region : null,
    is_scale_up_off: isOff,
    needs_licenses: codes.has('capacity_booked_license') || codes.has('capacity_booked_no_seat'),
    cordoned: namesOf(({ cordoned }) => cordoned),
    drained: namesOf(({ drain }) => drain !== null),
    // LCM starts what a policy stopped by itself.
    stopped: namesOf(({ desired_status, pause }) => desired_status === 'STOPPED' && pause.reason === null),
    templates: lacksTemplate ? templates.filter(({ enabled }) => !enabled).map(({ name }) => name) : [],
  })
}

const causeCodeOf = ({ admission: { at_risk } }: LabletSession): unknown =>
  (at_risk?.params.cause as Partial<Reason> | null | undefined)?.code
