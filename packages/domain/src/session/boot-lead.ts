import type { SettingValues } from '../fleet/settings.ts'

const MINUTE_MS = 60_000
/** What a lab takes to come up. The settings allow for a machine that has to come up before it. */
const LAB_MINUTES = 10

/** How long before its slot a lab is started: as its author said, else as the settings say, and later where CML serves already. */
export function bootLeadMs(
  definition: { readonly boot_lead_minutes: number | null },
  settings: Pick<SettingValues, 'boot_lead_minutes'>,
  isServing: boolean,
): number {
  const minutes = isServing ? Math.min(LAB_MINUTES, settings.boot_lead_minutes) : settings.boot_lead_minutes
  return (definition.boot_lead_minutes ?? minutes) * MINUTE_MS
}
