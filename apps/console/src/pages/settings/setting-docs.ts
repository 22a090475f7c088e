import { type SettingName, SettingValues } from '@lcm/domain/fleet/settings'

export type Unit = 'seconds' | 'minutes' | 'days' | 'workers'

interface SettingDoc {
  /** What people call it. */
  readonly title: string
  /** What it does, in a sentence. */
  readonly text: string
  /** Of numbers. */
  readonly unit?: Unit
}

export const SETTING_DOCS: Readonly<Record<SettingName, SettingDoc>> = {
  idle_detection_enabled: {
    title: 'Idle detection',
    text: 'Whether workers that nobody uses are looked for at all.',
  },
  idle_timeout_seconds: {
    title: 'Idle after',
    text: 'How long nobody must have used a worker before it counts as idle.',
    unit: 'seconds',
  },
  idle_snooze_seconds: {
    title: 'Snooze after a start',
    text: 'How long a worker that was just started is left alone.',
    unit: 'seconds',
  },
  idle_action: {
    title: 'What happens to idle workers',
    text: 'Pause stops them and keeps their disks, drain lets their sessions end first, none leaves them running.',
  },
  idle_running_nodes: {
    title: 'Idle with running nodes',
    text: 'Whether a worker whose labs still run is paused all the same, or kept.',
  },
  scale_down_enabled: {
    title: 'Scale down',
    text: 'Whether idle workers may be drained, so that the fleet shrinks by itself.',
  },
  min_workers: {
    title: 'Workers at least',
    text: 'Running workers that no policy goes below.',
    unit: 'workers',
  },
  scale_down_cooldown_seconds: {
    title: 'Pause between stops',
    text: 'How long to wait between two automatic stops.',
    unit: 'seconds',
  },
  scale_up_enabled: {
    title: 'Scale up',
    text: 'Whether sessions that find no room may buy new workers.',
  },
  scale_up_cooldown_seconds: {
    title: 'Pause between purchases',
    text: 'How long to wait between two purchases of one template in one region.',
    unit: 'seconds',
  },
  max_workers_per_region: {
    title: 'Workers per region at most',
    text: 'Bounds what is bought automatically. People may ask for more.',
    unit: 'workers',
  },
  external_stop: {
    title: 'Stopped by somebody else',
    text: 'Whether a machine that was stopped behind our back is started again, or the stop is accepted.',
  },
  orphan_action: {
    title: 'Machines nobody knows',
    text: 'Whether machines of this fleet that no worker stands for are only reported, or terminated.',
  },
  license_on_terminate: {
    title: 'License of a stopped worker that is to go',
    text: 'Boot it once more to give its license back, or only record that the license is lost.',
  },
  license_on_stop: {
    title: 'License while stopped',
    text: 'Whether a worker that stops keeps its license, or releases it for others.',
  },
  boot_lead_minutes: {
    title: 'Boot lead',
    text: 'How long before its session a lab begins to boot.',
    unit: 'minutes',
  },
  schedule_ahead_minutes: {
    title: 'Schedule ahead',
    text: 'How long before its session a place is sought.',
    unit: 'minutes',
  },
  journal_retention_days: {
    title: 'Keep decisions',
    text: 'How long the reasons of controllers are kept.',
    unit: 'days',
  },
  terminated_retention_days: {
    title: 'Keep terminated workers',
    text: 'How long records of workers that are gone are kept.',
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
    title: 'Size of the fleet',
    names: [
      'scale_up_enabled',
      'scale_up_cooldown_seconds',
      'max_workers_per_region',
      'scale_down_enabled',
      'scale_down_cooldown_seconds',
      'min_workers',
    ],
  },
  {
    title: 'Machines and licenses',
    names: ['external_stop', 'orphan_action', 'license_on_stop', 'license_on_terminate'],
  },
  { title: 'Sessions', names: ['boot_lead_minutes', 'schedule_ahead_minutes'] },
  { title: 'Housekeeping', names: ['journal_retention_days', 'terminated_retention_days'] },
]

/** What it can be chosen from; null for numbers. */
export function choicesOf(name: SettingName): readonly string[] | null {
  const schema = SettingValues.shape[name]
  if (schema.type === 'boolean') return ['on', 'off']
  return 'options' in schema ? schema.options : null
}
