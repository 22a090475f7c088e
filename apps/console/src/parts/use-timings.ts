import { readTimings } from '@lcm/client/read-timings'
import { type Timings, timingsOf } from '@lcm/domain/calendar/timings'
import { SETTING_DEFAULTS, type SettingValues } from '@lcm/domain/fleet/settings'
import { useRead } from './use-read.ts'

const EVERY_MS = 60_000

export interface LeadBasis {
  readonly timings: Timings
  readonly settings: Pick<SettingValues, 'boot_lead_minutes'>
}

/** What the boot lead of a lab follows from: measured durations and the setting. Defaults until both are read. */
export function useLeadBasis(): LeadBasis {
  const timings = useRead('timings', readTimings, { everyMs: EVERY_MS })
  const settings = useRead('settings', (client, signal) => client.call('getSettings', { signal }), {
    updatesOf: 'settings',
  })
  const boot_lead_minutes = settings.value?.settings.boot_lead_minutes.value ?? SETTING_DEFAULTS.boot_lead_minutes
  return { timings: timings.value ?? timingsOf([]), settings: { boot_lead_minutes } }
}
