import { countText } from '../format-amounts.ts'
import type { NestedReason } from './nested-reason.ts'

interface Affected {
  readonly sessions: number
  readonly cause: NestedReason
}

/** How many people are affected by one cause, and what an operator can do about it. */
export const ATTENTION_REASONS = {
  sessions_waiting: ({ sessions, cause }: Affected) =>
    `${countText(sessions, 'session')} ${sessions === 1 ? 'waits' : 'wait'}: ${cause.message}`,
  sessions_down: ({ sessions, cause }: Affected) =>
    `${countText(sessions, 'session')} ${sessions === 1 ? 'is' : 'are'} down: ${cause.message}`,
  sessions_degraded: ({ sessions, cause }: Affected) =>
    `${countText(sessions, 'session')} ${sessions === 1 ? 'is' : 'are'} degraded: ${cause.message}`,
  /** With `unlicensed` only the license limits how many nodes a worker runs. */
  fix_worker_limit: ({ unlicensed }: { unlicensed: boolean }) =>
    unlicensed
      ? 'raise max_workers_per_region, or register a license'
      : 'raise max_workers_per_region, or end sessions that are not needed',
  fix_scale_up_disabled: () => 'set scale_up_enabled to true, or start or create a worker',
  fix_late_worker: () => 'extend the timeslot, or end sessions that are not needed',
  fix_template: () => 'enable or create a template that fits, or change the definition',
  fix_definition_deleted: ({ session_id }: { session_id: string }) =>
    `cancel the session with \`lcm cancel session ${session_id}\`, and book another definition`,
  fix_scheduler: () => 'check resource-scheduler with `lcm get services`',
  fix_worker: ({ worker }: { worker: string }) =>
    `see \`lcm why worker ${worker}\`; LCM moves the sessions if the worker stays down and another one has capacity`,
  fix_cml: ({ worker }: { worker: string }) =>
    `see \`lcm why worker ${worker}\`; the labs may still run, so LCM does not move them by itself`,
  fix_comes_back: ({ worker }: { worker: string }) =>
    `LCM starts the labs again when ${worker} is running; if that takes long, see \`lcm why worker ${worker}\`, or move the sessions`,
  fix_stopped_lab: ({ session_id }: { session_id: string }) =>
    `ask the owner, or start the lab again with \`lcm retry session ${session_id}\``,
  fix_session: ({ session_id }: { session_id: string }) => `see \`lcm why session ${session_id}\``,
}
