import { type SettingName, SettingValues } from '@lcm/domain/fleet/settings'

export type Unit =
  | 'of the workers'
  | 'USD'
  | 'seconds'
  | 'minutes'
  | 'days'
  | 'workers'
  | 'sessions'
  | 'saves'
  | 'core-hours'

interface SettingDoc {
  /** Display name. */
  readonly title: string
  /** Effect of the setting. */
  readonly text: string
  /** Unit of a number. */
  readonly unit?: Unit
}

export const SETTING_DOCS: Readonly<Record<SettingName, SettingDoc>> = {
  idle_detection_enabled: {
    title: 'Idle detection',
    text: 'Detect workers without activity.',
  },
  idle_timeout_seconds: {
    title: 'Idle timeout',
    text: 'Time without activity after which a worker counts as idle.',
    unit: 'seconds',
  },
  idle_snooze_seconds: {
    title: 'Snooze after start',
    text: 'Time after a start during which a worker never counts as idle.',
    unit: 'seconds',
  },
  idle_action: {
    title: 'Action on idle workers',
    text:
      'Calendar stops a worker when sleeping costs less than staying until its next use. Pause stops it after the idle timeout, ' +
      'drain lets its sessions end first, none leaves it running.',
  },
  idle_running_nodes: {
    title: 'Idle workers with running nodes',
    text: 'Pause an idle worker even if lab nodes are running on it, or keep it running.',
  },
  scale_down_enabled: {
    title: 'Scale down',
    text: 'Drain idle workers automatically to shrink the fleet.',
  },
  min_workers: {
    title: 'Minimum workers',
    text: 'Number of running workers that automatic actions never go below.',
    unit: 'workers',
  },
  scale_down_max_share: {
    title: 'Share of automatic stops',
    text: 'Share of the running workers that may be stopped automatically within 10 minutes. One always may.',
    unit: 'of the workers',
  },
  scale_down_cooldown_seconds: {
    title: 'Scale-down cooldown',
    text: 'Minimum time between two automatic stops, instead of their share; off by default.',
    unit: 'seconds',
  },
  terminate_sleeping: {
    title: 'Terminate stopped workers',
    text: 'Terminate stopped workers that LCM bought, once nothing is planned on them and their disk costs more than a new worker would.',
  },
  scale_up_enabled: {
    title: 'Scale up',
    text: 'Create workers automatically for sessions that find no free capacity.',
  },
  scale_up_cooldown_seconds: {
    title: 'Scale-up cooldown',
    text: 'Minimum time between two scale-ups of the same template, region and hour of sessions.',
    unit: 'seconds',
  },
  max_workers_per_region: {
    title: 'Maximum workers per region',
    text: 'Limit for automatic scale-up. It does not apply to workers that people create.',
    unit: 'workers',
  },
  budget_usd_per_day: {
    title: 'Budget per day',
    text: 'Cost of machines and disks in a UTC day from which nothing more is bought or woken automatically.',
    unit: 'USD',
  },
  budget_usd_per_month: {
    title: 'Budget per month',
    text: 'Cost of machines and disks in a UTC month from which nothing more is bought or woken automatically.',
    unit: 'USD',
  },
  external_stop: {
    title: 'External stop',
    text: 'If a machine was stopped outside LCM: start it again, or accept the stop.',
  },
  orphan_action: {
    title: 'Orphaned machines',
    text: 'If a machine carries the tags of this fleet but belongs to no worker: report it, or terminate it.',
  },
  auto_approve: {
    title: 'Automatic approval',
    text: 'Images and launch templates whose discovered machines are approved at once: none, or their ids with commas.',
  },
  license_on_terminate: {
    title: 'License on terminate',
    text: 'When a stopped worker is terminated: boot it to release its license, or record the license as leaked.',
  },
  license_on_stop: {
    title: 'License on stop',
    text: 'When a worker stops: keep its license, or release it for other workers.',
  },
  boot_lead_minutes: {
    title: 'Boot lead',
    text: 'Time before the start of a session at which its lab is started, or auto: as long as its latest labs took.',
    unit: 'minutes',
  },
  schedule_ahead_minutes: {
    title: 'Schedule ahead',
    text: 'Time before the start of a session at which the scheduler assigns a worker, or auto: when its lab must start.',
    unit: 'minutes',
  },
  save_interval_minutes: {
    title: 'Save interval',
    text: 'Time between two saves of the work in a session. 0 saves only on request and at the end.',
    unit: 'minutes',
  },
  saves_kept: {
    title: 'Saves per session',
    text: 'Number of saves that are kept while a session is open.',
    unit: 'saves',
  },
  save_retention_days: {
    title: 'Save retention',
    text: 'Time for which the last save of an ended session is kept.',
    unit: 'days',
  },
  quota_user_live_sessions: {
    title: 'Open sessions of users',
    text: 'Number of sessions that each may have at a time, or unlimited.',
    unit: 'sessions',
  },
  quota_user_future_sessions: {
    title: 'Future sessions of users',
    text: 'Number of sessions that each may have that have not started, or unlimited.',
    unit: 'sessions',
  },
  quota_user_horizon_days: {
    title: 'Booking horizon of users',
    text: 'How far ahead their sessions may start, or unlimited.',
    unit: 'days',
  },
  quota_user_core_hours_per_week: {
    title: 'Core-hours of users',
    text: 'CPU cores multiplied by hours that each may book from Monday to Sunday in UTC, or unlimited.',
    unit: 'core-hours',
  },
  quota_author_live_sessions: {
    title: 'Open sessions of authors',
    text: 'Number of sessions that each may have at a time, or unlimited.',
    unit: 'sessions',
  },
  quota_author_future_sessions: {
    title: 'Future sessions of authors',
    text: 'Number of sessions that each may have that have not started, or unlimited.',
    unit: 'sessions',
  },
  quota_author_horizon_days: {
    title: 'Booking horizon of authors',
    text: 'How far ahead their sessions may start, or unlimited.',
    unit: 'days',
  },
  quota_author_core_hours_per_week: {
    title: 'Core-hours of authors',
    text: 'CPU cores multiplied by hours that each may book from Monday to Sunday in UTC, or unlimited.',
    unit: 'core-hours',
  },
  journal_retention_days: {
    title: 'Decision retention',
    text: 'Time for which the decisions of controllers are kept.',
    unit: 'days',
  },
  terminated_retention_days: {
    title: 'Terminated worker retention',
    text: 'Time for which records of terminated workers are kept.',
    unit: 'days',
  },
}

export interface SettingGroup {
  readonly title: string
  readonly names: readonly SettingName[]
}

export const SETTING_GROUPS: readonly SettingGroup[] = [
  {
    title: 'Idle workers',
    names: [
      'idle_detection_enabled',
      'idle_timeout_seconds',
      'idle_snooze_seconds',
      'idle_action',
      'idle_running_nodes',
    ],
  },
  {
    title: 'Fleet size',
    names: [
      'scale_up_enabled',
      'scale_up_cooldown_seconds',
      'max_workers_per_region',
      'scale_down_enabled',
      'scale_down_max_share',
      'scale_down_cooldown_seconds',
      'min_workers',
      'terminate_sleeping',
    ],
  },
  { title: 'Budgets', names: ['budget_usd_per_day', 'budget_usd_per_month'] },
  {
    title: 'Machines and licenses',
    names: ['external_stop', 'orphan_action', 'auto_approve', 'license_on_stop', 'license_on_terminate'],
  },
  { title: 'Sessions', names: ['boot_lead_minutes', 'schedule_ahead_minutes'] },
  { title: 'Saves', names: ['save_interval_minutes', 'saves_kept', 'save_retention_days'] },
  {
    title: 'Quotas',
    names: [
      'quota_user_live_sessions',
      'quota_user_future_sessions',
      'quota_user_horizon_days',
      'quota_user_core_hours_per_week',
      'quota_author_live_sessions',
      'quota_author_future_sessions',
      'quota_author_horizon_days',
      'quota_author_core_hours_per_week',
    ],
  },
  { title: 'Housekeeping', names: ['journal_retention_days', 'terminated_retention_days'] },
]

/** Allowed values; null for numbers, limits and texts. */
export function choicesOf(name: SettingName): readonly string[] | null {
  const schema = SettingValues.shape[name]
  if (schema.type === 'boolean') return ['on', 'off']
  return schema.type === 'enum' ? schema.options : null
}

export const isText = (name: SettingName): boolean => SettingValues.shape[name].type === 'string'
