import { z } from 'zod'
import type { LabletDefinition } from '../definition/lablet-definition.ts'
import type { Instant } from '../instant.ts'
import { Reason, reason, sameReason } from '../reason.ts'
import { INSTANTIATE_ATTEMPTS_MAX } from '../session/decide-session.ts'
import type { LabletSession } from '../session/lablet-session.ts'

/** The condition of a session whose lab starts, or should have started, with saved work. */
export const LAB_RESTORED = 'LabRestored'

type Conditions = LabletSession['conditions']
const restoreIn = (conditions: Conditions) => conditions.find(({ type }) => type === LAB_RESTORED)

/** Why saves can't be read or imported, by save, so that none is tried twice. */
export type RefusedSaves = ReadonlyMap<string, Reason>

export function refusedSaves({ conditions }: Pick<LabletSession, 'conditions'>): RefusedSaves {
  const refused = z.array(Reason).safeParse(restoreIn(conditions)?.reason.params.refused).data ?? []
  return new Map(refused.map(because => [String(because.params.save), because]))
}

/** The save that the lab was made from in an earlier attempt, all of which failed; null before the last attempt. */
export function saveThatFails({ conditions, pipeline }: LabletSession): string | null {
  const restored = restoreIn(conditions)
  const beganAt = pipeline?.steps.lab_resolve?.started_at ?? null
  if (restored === undefined || !restored.status || beganAt === null) return null
  const isLast = pipeline?.attempt === INSTANTIATE_ATTEMPTS_MAX
  return isLast && restored.since < beganAt ? String(restored.reason.params.save) : null
}

/**
 * What the lab is created from; null for a session without saves, whose definition is expected. `added` names the nodes of the save
 * that the definition opens no port to.
 */
export function restoreReason(
  save: { readonly id: string; readonly created_at: Instant } | null,
  refusals: RefusedSaves,
  added: readonly string[] = [],
): Reason | null {
  const refused = [...refusals.values()]
  if (save !== null) return reason('lab_restored', { save: save.id, saved_at: save.created_at, refused, added })
  return refused.length === 0 ? null : reason('lab_not_restored', { refused })
}

export const isRestoreAnnounced = ({ conditions }: Pick<LabletSession, 'conditions'>, because: Reason): boolean =>
  sameReason(restoreIn(conditions)?.reason ?? null, because)

export const withRestore = ({ conditions }: LabletSession, because: Reason, since: Instant): Conditions => [
  ...conditions.filter(({ type }) => type !== LAB_RESTORED),
  { type: LAB_RESTORED, status: because.code === 'lab_restored', reason: because, since },
]

/** A wiped lab keeps the configurations that were extracted, so a lab that is saved never gets another learner. */
export const reusesLabs = (
  { lab_reuse, saves_enabled }: Pick<LabletDefinition, 'lab_reuse' | 'saves_enabled'>,
  { restore_from }: Pick<LabletSession, 'restore_from'>,
): boolean => lab_reuse && !saves_enabled && restore_from === null
