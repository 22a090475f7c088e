import { z } from 'zod'
import { Instant } from '../instant.ts'
import { CORE_HOURS_LIMIT, HORIZON_DAYS_LIMIT, SESSIONS_LIMIT, UNLIMITED } from '../quota/limit.ts'

/** Lets LCM decide by what it measured. A word, because null resets a setting. */
export const AUTO = 'auto'

const seconds = z
  .int()
  .min(0)
  .max(30 * 86_400)
const minutes = z
  .int()
  .min(0)
  .max(24 * 60)
const days = z.int().min(1).max(3650)
/** The word of a setting that can be turned off. */
const OFF = 'off'
const workers = z.int().min(0).max(10_000)
const budget = z.union([z.number().min(0).max(100_000_000), z.literal(OFF)])

/** The settings that operators can change at run time. */
export const SettingValues = z.strictObject({
  idle_detection_enabled: z.boolean().meta({ description: 'Whether idle workers are detected.' }),
  idle_timeout_seconds: seconds.meta({
    description: 'How long a worker must be unused before it is idle.',
    example: 1800,
  }),
  idle_snooze_seconds: seconds.meta({
    description: 'How long after a start or resume a worker is not stopped for being idle.',
  }),
  idle_action: z.enum(['calendar', 'pause', 'drain', 'none']).meta({
    description:
      'What happens to a worker without sessions: `calendar` stops it when sleeping costs less than staying until its next use; ' +
      '`pause` and `drain` stop it after the idle timeout.',
  }),
  idle_running_nodes: z
    .enum(['pause', 'keep'])
    .meta({ description: 'Whether a worker with running lab nodes counts as in use.' }),
  scale_down_enabled: z.boolean().meta({ description: 'Whether the scale-down policy runs.' }),
  min_workers: workers.meta({ description: 'The number of running workers that automatic stops keep.' }),
  scale_down_max_share: z.number().min(0).max(1).meta({
    description:
      'The share of the running workers that may be stopped automatically within 10 minutes; one always may.',
    example: 0.25,
  }),
  scale_down_cooldown_seconds: z.union([seconds, z.literal(OFF)]).meta({
    description: 'The time between two automatic stops. A number replaces `scale_down_max_share`.',
  }),
  terminate_sleeping: z.boolean().meta({
    description:
      'Whether stopped workers that the scale-up policy bought are terminated once nothing is planned on them and their disk costs more ' +
      'than a new worker would. Protected and licensed workers, and those with labs of people, are kept.',
  }),
  scale_up_enabled: z.boolean().meta({ description: 'Whether the scale-up policy runs.' }),
  scale_up_cooldown_seconds: seconds.meta({
    description:
      'The time between two purchases of the same template and region, for sessions that start in the same hour.',
  }),
  max_workers_per_region: workers.meta({
    description: 'The maximum number of workers in a region for the scale-up policy.',
  }),
  budget_usd_per_day: budget.meta({
    description:
      'What machines and disks may cost in a day (UTC) before nothing more is bought or woken automatically.',
    example: 100,
  }),
  budget_usd_per_month: budget.meta({
    description:
      'What machines and disks may cost in a month (UTC) before nothing more is bought or woken automatically.',
    example: 2000,
  }),
  external_stop: z
    .enum(['restart', 'accept'])
    .meta({ description: 'What happens when a machine is stopped outside LCM.' }),
  orphan_action: z
    .enum(['report', 'terminate'])
    .meta({ description: 'What happens to a machine of LCM that has no record.' }),
  license_on_terminate: z
    .enum(['boot', 'record'])
    .meta({ description: 'Whether a stopped worker is booted to return its license before it is terminated.' }),
  license_on_stop: z
    .enum(['keep', 'release'])
    .meta({ description: 'Whether a worker keeps its license while it is stopped.' }),
  boot_lead_minutes: z.union([minutes, z.literal(AUTO)]).meta({
    description:
      'How long before its timeslot a lab is started; `auto`: as long as the latest labs of its definition took, or its nodes need.',
    example: AUTO,
  }),
  schedule_ahead_minutes: z.union([minutes, z.literal(AUTO)]).meta({
    description: 'How long before its timeslot a session is placed; `auto`: when its lab must start.',
    example: AUTO,
  }),
  save_interval_minutes: minutes.meta({
    description: 'How often the work of a session is saved; 0 saves only on request and at the end.',
  }),
  saves_kept: z.int().min(1).max(100).meta({ description: 'How many saves of an open session are kept.' }),
  save_retention_days: days.meta({ description: 'How long the last save of an ended session is kept.' }),
  auto_approve: z
    .string()
    .max(2000)
    .regex(
      /^(none|(ami|lt)-[0-9a-f]{8,17}(,(ami|lt)-[0-9a-f]{8,17})*)$/,
      'none, or ids like ami-0a1b2c3d4e5f60718,lt-0a1b2c3d',
    )
    .meta({
      description:
        'Images and launch templates whose discovered machines are approved at their import: `none`, or their ids with commas.',
      example: 'none',
    }),
  quota_user_live_sessions: SESSIONS_LIMIT.meta({
    description: 'The maximum number of sessions a user may have at a time.',
  }),
  quota_user_future_sessions: SESSIONS_LIMIT.meta({
    description: 'The maximum number of sessions a user may have that have not started.',
  }),
  quota_user_horizon_days: HORIZON_DAYS_LIMIT.meta({
    description: 'How many days ahead the sessions of a user may start.',
  }),
  quota_user_core_hours_per_week: CORE_HOURS_LIMIT.meta({
    description: 'The maximum number of core-hours a user may book in a week.',
  }),
  quota_author_live_sessions: SESSIONS_LIMIT.meta({
    description: 'The maximum number of sessions an author may have at a time.',
  }),
  quota_author_future_sessions: SESSIONS_LIMIT.meta({
    description: 'The maximum number of sessions an author may have that have not started.',
  }),
  quota_author_horizon_days: HORIZON_DAYS_LIMIT.meta({
    description: 'How many days ahead the sessions of an author may start.',
  }),
  quota_author_core_hours_per_week: CORE_HOURS_LIMIT.meta({
    description: 'The maximum number of core-hours an author may book in a week.',
  }),
  journal_retention_days: days.meta({ description: 'How long journal entries are kept.' }),
  terminated_retention_days: days.meta({ description: 'How long records of terminated workers are kept.' }),
})
export type SettingValues = z.infer<typeof SettingValues>
export type SettingName = keyof SettingValues

export const SETTING_DEFAULTS: SettingValues = {
  idle_detection_enabled: true,
  idle_timeout_seconds: 3600,
  idle_snooze_seconds: 3600,
  idle_action: 'calendar',
  idle_running_nodes: 'pause',
  scale_down_enabled: false,
  min_workers: 0,
  scale_down_max_share: 0.25,
  scale_down_cooldown_seconds: OFF,
  terminate_sleeping: false,
  scale_up_enabled: true,
  scale_up_cooldown_seconds: 300,
  max_workers_per_region: 10,
  budget_usd_per_day: OFF,
  budget_usd_per_month: OFF,
  external_stop: 'restart',
  orphan_action: 'report',
  license_on_terminate: 'boot',
  license_on_stop: 'keep',
  boot_lead_minutes: AUTO,
  schedule_ahead_minutes: AUTO,
  save_interval_minutes: 10,
  saves_kept: 3,
  save_retention_days: 30,
  auto_approve: 'none',
  quota_user_live_sessions: 2,
  quota_user_future_sessions: 10,
  quota_user_horizon_days: 60,
  quota_user_core_hours_per_week: 1000,
  quota_author_live_sessions: UNLIMITED,
  quota_author_future_sessions: UNLIMITED,
  quota_author_horizon_days: UNLIMITED,
  quota_author_core_hours_per_week: UNLIMITED,
  journal_retention_days: 30,
  terminated_retention_days: 30,
}

/** The word that a setting may have instead of a number, such as `unlimited` or `off`; null if it has none. */
export function wordOfSetting(name: SettingName): string | null {
  const { anyOf = [] } = z.toJSONSchema(SettingValues.shape[name]) as { anyOf?: { const?: string }[] }
  return anyOf.find(each => each.const !== undefined)?.const ?? null
}

/** Settings that were stored or set by the environment. Absent ones come from the next source. */
export const GivenSettings = SettingValues.partial()
export type GivenSettings = z.infer<typeof GivenSettings>

/** The fields of a patch, where null resets a value to its default. */
export const resettable = <T extends z.ZodRawShape>(shape: T): { [K in keyof T]: z.ZodOptional<z.ZodNullable<T[K]>> } =>
  Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => [
      name,
      z
        .nullable(schema)
        .optional()
        .meta({ description: z.globalRegistry.get(schema)?.description }),
    ]),
  ) as {
    [K in keyof T]: z.ZodOptional<z.ZodNullable<T[K]>>
  }

export const SettingsPatch = z.strictObject(resettable(SettingValues.shape)).meta({
  id: 'SettingsPatch',
  description: 'Settings to change. Null resets a setting to the environment or the default.',
})
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

/** The effective settings: the stored value, else that of the environment, else the default. */
export function effectiveSettings(given: GivenSettings, environment: GivenSettings): SettingValues {
  const set: GivenSettings = { ...present(environment), ...present(given) }
  // A timeout that was chosen applies to every worker, as before there was a calendar.
  const action = set.idle_timeout_seconds === undefined ? SETTING_DEFAULTS.idle_action : 'pause'
  return SettingValues.parse({ ...SETTING_DEFAULTS, idle_action: action, ...set })
}

export function sourceOfSetting(name: SettingName, given: GivenSettings, environment: GivenSettings): SettingSource {
  if (given[name] !== undefined) return 'given'
  return environment[name] === undefined ? 'default' : 'environment'
}

/** The stored settings with the patch applied. */
export function patchedSettings(given: GivenSettings, patch: SettingsPatch): GivenSettings {
  const merged = { ...given, ...present(patch) }
  return GivenSettings.parse(Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)))
}

const present = (values: object) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
