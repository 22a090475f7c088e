import type { SettingValues } from '../fleet/settings.ts'

const MINUTE_MS = 60_000
/** The boot time of a lab. The settings include the boot of a machine before it. */
const LAB_MINUTES = 10

/** How long before its slot a lab is started: by its definition, else by the settings, and later when CML serves already. */
export function bootLeadMs(
  definition: { readonly boot_lead_minutes: number | null },
  settings: Pick<SettingValues, 'boot_lead_minutes'>,
  isServing: boolean,
): number {
  const minutes = isServing ? Math.min(LAB_MINUTES, settings.boot_lead_minutes) : settings.boot_lead_minutes
  return (definition.boot_lead_minutes ?? minutes) * MINUTE_MS
}
