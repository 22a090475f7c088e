import type { SettingValues } from '../fleet/settings.ts'
import { toMs } from '../instant.ts'
import type { Save } from './save.ts'

const DAY_MS = 86_400_000

export type RetainedSave = Pick<Save, 'id' | 'number' | 'session_ended_at'>

export interface Retention {
  readonly rules: Pick<SettingValues, 'saves_kept' | 'save_retention_days'>
  /** Saves that an open session needs, whatever the rules say. */
  isNeeded(id: string): boolean
  /** Saves that the lab of the session could not start with: the later ones lack their work. */
  isPassedOver(id: string): boolean
  readonly nowMs: number
}

/**
 * The saves of one session that go. While it is open its newest saves stay; after its end the newest one stays for the retention.
 * A save that a restore passed over is kept in addition to these. Any other save stays only while a session needs it.
 */
export function savesToRemove<S extends RetainedSave>(
  saves: readonly S[],
  { rules, isNeeded, isPassedOver, nowMs }: Retention,
): S[] {
  const newestFirst = saves.toSorted((a, b) => b.number - a.number)
  const isKept = ({ id, session_ended_at }: S, index: number): boolean =>
    session_ended_at === null
      ? index < rules.saves_kept || isPassedOver(id)
      : (index === 0 || isPassedOver(id)) && nowMs < toMs(session_ended_at) + rules.save_retention_days * DAY_MS
  return newestFirst.filter((save, index) => !isKept(save, index) && !isNeeded(save.id))
}
