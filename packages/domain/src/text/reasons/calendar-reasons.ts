import { countText, momentText } from '../format-amounts.ts'
import type { NestedReason } from './nested-reason.ts'

const alternativesText = (starts: readonly string[]): string =>
  starts.length === 0 ? '' : `. Start at ${starts.map(momentText).join(' or ')} instead`

/** What the calendar promises, and why it can't. The reader is the person who books. */
export const CALENDAR_REASONS = {
  /** `alternatives` are the nearest starts that would be admitted. */
  seats_short: ({
    short,
    seats,
    start,
    cause,
    alternatives,
  }: {
    short: number
    seats: number
    start: string
    cause: NestedReason
    alternatives: readonly string[]
  }) =>
    `${seats === 1 ? 'No capacity' : `${short} of ${countText(seats, 'seat')} short`} at ${momentText(start)}: ` +
    `${cause.message}${alternativesText(alternatives)}`,
  extension_short: ({ minutes, cause }: { minutes: number; cause: NestedReason }) =>
    `${cause.message}; ${minutes === 0 ? "the session can't be extended" : `it can be extended by ${minutes} min at most`}`,
  capacity_booked: ({ limit, region }: { limit: number; region: string }) =>
    `all capacity of that time is booked, with the ${countText(limit, 'worker')} that ${region} may have; ` +
    'raise max_workers_per_region or book another time',
  capacity_booked_no_scale_up: () =>
    'all workers are booked at that time, and scale-up is off; set scale_up_enabled to true, create a worker or book another time',
  capacity_booked_no_template: () =>
    'all workers are booked at that time, and no template is enabled; enable a template, create a worker or book another time',
  /** `license` is null where no license is registered. */
  capacity_booked_license: ({ node_limit, license }: { node_limit: number; license: string | null }) =>
    `all capacity of that time is booked, and ${license === null ? 'without a license' : `with ${license}`} a worker runs only ` +
    `${countText(node_limit, 'node')}; register a license with more nodes, ` +
    'raise max_workers_per_region or book another time',
  promises_come_first: ({ sessions }: { sessions: number }) =>
    `${countText(sessions, 'session')} booked earlier lost ${sessions === 1 ? 'its' : 'their'} capacity and ` +
    `${sessions === 1 ? 'comes' : 'come'} first; add capacity or book another time`,
  capacity_lost: () =>
    'the capacity that was promised is gone: a worker, a license or a limit changed since; add capacity or book another time',
}
