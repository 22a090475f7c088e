import { ProblemError } from '@lcm/contract/problems'
import { BEST_EFFORT } from '@lcm/domain/calendar/session-admission'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { HEALTHY } from '@lcm/domain/health'
import { Instant, toInstant, toMs } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { type LabletSession, NEVER_SAVED } from '@lcm/domain/session/lablet-session'

export interface Booking {
  readonly timeslot: LabletSession['timeslot']
  /** Actor id, which stays the same when the name changes. */
  readonly owner: string
  readonly by: string
  readonly reservation_id: string | null
  readonly restore_from?: string | null
}

/** A booked session, best effort until it is admitted. Its needs are pinned, so that what is released equals what was reserved. */
export function newSession(
  id: string,
  definition: LabletDefinition,
  { timeslot, owner, by, reservation_id, restore_from = null }: Booking,
  now = timeslot.start,
): LabletSession {
  return {
    id,
    version: 1,
    created_at: now,
    updated_at: now,
    owner,
    owner_name: by,
    reservation_id,
    definition: { id: definition.id, name: definition.name, version: definition.definition_version },
    needs: definition.needs,
    timeslot,
    admission: BEST_EFFORT,
    desired_status: 'RUNNING',
    desired_by: by,
    desired_reason: '',
    status: 'PENDING',
    entered_status_at: now,
    worker_id: null,
    lab_record_id: null,
    access: [],
    pipeline: null,
    waiting_reason: null,
    last_error: null,
    conditions: [],
    health: HEALTHY,
    restore_from,
    save: NEVER_SAVED,
    move: null,
    state_history: [{ from: null, to: 'PENDING', at: now, because: reason('booked_by', { by }) }],
    applied_keys: [],
    fence: {},
  }
}

/** Why a timeslot cannot be had. */
export const invalidTimeslot = (detail: string): ProblemError => new ProblemError('timeslot_invalid', detail)

const MINUTE_MS = 60_000

/** After the year 9999 instants don't sort as text and can't be parsed. */
export function endAfter(from: Instant, minutes: number): Instant {
  const end = Instant.safeParse(toInstant(toMs(from) + minutes * MINUTE_MS))
  if (!end.success) throw invalidTimeslot('it would end after the year 9999')
  return end.data
}
