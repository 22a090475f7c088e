import { countText, dayText, momentText, namesText, usdText, weekdayText } from '../format-amounts.ts'
import type { NestedReason } from './nested-reason.ts'

interface LostPromises {
  readonly sessions: number
  readonly owners: readonly string[]
  /** When the first of them starts. */
  readonly start: string
}

const OWNERS_MAX = 3

const lostText = ({ sessions, owners, start }: LostPromises, what: string): string =>
  `${countText(sessions, 'booked session')} of ${namesText(owners, OWNERS_MAX)} ${sessions === 1 ? 'has' : 'have'} ${what}; ` +
  `${sessions === 1 ? 'it' : 'the first'} starts ${weekdayText(start)}`

const namedText = (verb: string, names: readonly string[]): string[] =>
  names.length === 0 ? [] : [`${verb} ${namesText(names, OWNERS_MAX)}`]

const orText = (choices: readonly string[]): string =>
  choices.length < 2 ? choices.join('') : `${choices.slice(0, -1).join(', ')}, or ${choices.at(-1)}`

interface BookedBudget {
  readonly period: 'day' | 'month'
  /** The UTC day or month. */
  readonly date: string
  readonly limit: number
  readonly spent_usd: number
  /** What promised sessions cost, and disks. */
  readonly committed_usd: number
  readonly needed_usd: number
}

/** What the calendar promises, and why it can't. The reader is the person who books. */
export const CALENDAR_REASONS = {
  seats_short: ({ short, seats, start, cause }: { short: number; seats: number; start: string; cause: NestedReason }) =>
    `${seats === 1 ? 'No capacity' : `${short} of ${countText(seats, 'seat')} short`} at ${momentText(start)}: ${cause.message}`,
  extension_short: ({ minutes, cause }: { minutes: number; cause: NestedReason }) =>
    `${cause.message}; ${minutes === 0 ? "the session can't be extended" : `it can be extended by ${minutes} min at most`}`,
  capacity_booked: ({ limit, region }: { limit: number; region: string }) =>
    `all capacity of that time is booked, with the ${countText(limit, 'worker')} that ${region} may have; ` +
    'raise max_workers_per_region or book another time',
  capacity_booked_no_scale_up: () =>
    'all workers are booked at that time, and scale-up is off; set scale_up_enabled to true, create a worker or book another time',
  capacity_booked_no_template: () =>
    'all workers are booked at that time, and no template is enabled; enable a template, create a worker or book another time',
  capacity_booked_no_seat: ({ license }: { license: string }) =>
    `all capacity of that time is booked, and no ${license} license is free for another worker; ` +
    'add seats to the license pool or book another time',
  /** `license` is null where no license is registered. */
  capacity_booked_license: ({ node_limit, license }: { node_limit: number; license: string | null }) =>
    `all capacity of that time is booked, and ${license === null ? 'without a license' : `with ${license}`} a worker runs only ` +
    `${countText(node_limit, 'node')}; register a license with more nodes, ` +
    'raise max_workers_per_region or book another time',
  budget_booked: (p: BookedBudget) =>
    `the budget of ${p.period === 'day' ? dayText(p.date) : p.date} is used up: it is ${usdText(p.limit)}, ` +
    `${usdText(p.spent_usd)} is spent, ${usdText(p.committed_usd)} is promised, and this needs ${usdText(p.needed_usd)} more; ` +
    `raise budget_usd_per_${p.period} or book another ${p.period}`,
  promises_come_first: ({ sessions }: { sessions: number }) =>
    `${countText(sessions, 'session')} booked earlier lost ${sessions === 1 ? 'its' : 'their'} capacity and ` +
    `${sessions === 1 ? 'comes' : 'come'} first; add capacity or book another time`,
  lab_takes_longer: ({ minutes, cause }: { minutes: number; cause: NestedReason }) =>
    `its lab needs ${minutes} min more than when it was booked: ${cause.message}`,
  /** `since` tells one loss from a later one. The cause is null for people who don't run LCM. */
  capacity_lost: ({ cause }: { since: string; cause: NestedReason | null }) =>
    `the capacity that it was promised is gone${cause === null ? '' : `: ${cause.message}`}`,
  /** Of sessions that a release without a calendar booked. */
  capacity_not_promised: ({ cause }: { since: string; cause: NestedReason | null }) =>
    `it was booked before LCM promised capacity, and none is left for it${cause === null ? '' : `: ${cause.message}`}`,
  promises_lost: (p: LostPromises) => lostText(p, `lost ${p.sessions === 1 ? 'its' : 'their'} promised capacity`),
  promises_missing: (p: LostPromises) => lostText(p, `no promised capacity since the upgrade`),
  fix_session_at_risk: () => 'see `lcm doctor` for what brings the capacity back',
  /** `limit` is null unless more workers would help. */
  fix_promises: (p: {
    limit: number | null
    is_scale_up_off: boolean
    needs_licenses: boolean
    /** Workers that are cordoned, are being drained, or were stopped by a user. */
    cordoned: readonly string[]
    drained: readonly string[]
    stopped: readonly string[]
    templates: readonly string[]
  }) =>
    orText([
      ...(p.is_scale_up_off ? ['set scale_up_enabled to true'] : []),
      ...(p.limit === null ? [] : [`raise max_workers_per_region (it is ${p.limit})`]),
      ...(p.needs_licenses ? ['add licenses'] : []),
      ...namedText('uncordon', p.cordoned),
      ...namedText('cancel the drain of', p.drained),
      ...namedText('start', p.stopped),
      ...namedText('enable template', p.templates),
      'ask the owners to book another time',
    ]),
}
