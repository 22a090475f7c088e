import { z } from 'zod'
import { Instant } from '../instant.ts'

const seconds = z
  .int()
  .min(0)
  .max(30 * 86_400)
const minutes = z
  .int()
  .min(0)
  .max(24 * 60)
const days = z.int().min(1).max(3650)
const workers = z.int().min(0).max(10_000)

/** What operators can change while the fleet runs. */
export const SettingValues = z.strictObject({
  idle_detection_enabled: z.boolean(),
  idle_timeout_seconds: seconds,
  idle_snooze_seconds: seconds,
  idle_action: z.enum(['pause', 'drain', 'none']),
  idle_running_nodes: z.enum(['pause', 'keep']),
  scale_down_enabled: z.boolean(),
  min_workers: workers,
  scale_down_cooldown_seconds: seconds,
  scale_up_enabled: z.boolean(),
  scale_up_cooldown_seconds: seconds,
  max_workers_per_region: workers,
  external_stop: z.enum(['restart', 'accept']),
  orphan_action: z.enum(['report', 'terminate']),
  license_on_terminate: z.enum(['boot', 'record']),
  license_on_stop: z.enum(['keep', 'release']),
  boot_lead_minutes: minutes,
  schedule_ahead_minutes: minutes,
  journal_retention_days: days,
  terminated_retention_days: days,
})
export type SettingValues = z.infer<typeof SettingValues>
export type SettingName = keyof SettingValues

export const SETTING_DEFAULTS: SettingValues = {
  idle_detection_enabled: true,
  idle_timeout_seconds: 3600,
  idle_snooze_seconds: 3600,
  idle_action: 'pause',
  idle_running_nodes: 'pause',
  scale_down_enabled: false,
  min_workers: 0,
  scale_down_cooldown_seconds: 600,
  scale_up_enabled: true,
  scale_up_cooldown_seconds: 300,
  max_workers_per_region: 10,
  external_stop: 'restart',
  orphan_action: 'report',
  license_on_terminate: 'boot',
  license_on_stop: 'keep',
  boot_lead_minutes: 20,
  schedule_ahead_minutes: 35,
  journal_retention_days: 30,
  terminated_retention_days: 30,
}

/** What was said at run time, or by the environment; what is absent comes from further down. */
export const GivenSettings = SettingValues.partial()
export type GivenSettings = z.infer<typeof GivenSettings>

const resettable = <T extends z.ZodRawShape>(shape: T): { [K in keyof T]: z.ZodOptional<z.ZodNullable<T[K]>> } =>
  Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, z.nullable(schema).optional()])) as {
    [K in keyof T]: z.ZodOptional<z.ZodNullable<T[K]>>
  }

/** Null takes back what was said. */
export const SettingsPatch = z.strictObject(resettable(SettingValues.shape))
export type SettingsPatch = z.infer<typeof SettingsPatch>

export const SETTINGS_ID = 'fleet'

/** The one document of settings. */
export const Settings = z.object({
  id: z.literal(SETTINGS_ID),
  version: z.int().positive(),
  created_at: Instant,
  updated_at: Instant,
  given: GivenSettings,
})
export type Settings = z.infer<typeof Settings>

export const SETTING_SOURCES = ['given', 'environment', 'default'] as const
export type SettingSource = (typeof SETTING_SOURCES)[number]

/** What holds: what was said at run time, else what the environment says, else the default. */
export const effectiveSettings = (given: GivenSettings, environment: GivenSettings): SettingValues =>
  SettingValues.parse({ ...SETTING_DEFAULTS, ...present(environment), ...present(given) })

export function sourceOfSetting(name: SettingName, given: GivenSettings, environment: GivenSettings): SettingSource {
  if (given[name] !== undefined) return 'given'
  return environment[name] === undefined ? 'default' : 'environment'
}

/** What was said before, with the patch on top. */
export function patchedSettings(given: GivenSettings, patch: SettingsPatch): GivenSettings {
  const merged = { ...given, ...present(patch) }
  return GivenSettings.parse(Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)))
}

const present = (values: object) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
