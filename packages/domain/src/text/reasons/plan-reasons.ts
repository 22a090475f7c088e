import { countText, momentText } from '../format-amounts.ts'

interface Pause {
  readonly next_use: string
  readonly staying_usd: number
  readonly sleeping_usd: number
}

interface Start {
  readonly sessions: number
  readonly first_use: string
  readonly minutes: number
}

interface LicenseLimit {
  readonly template: string
  readonly license: string | null
  readonly nodes: number
  readonly nodes_possible: number
}

const usd = (amount: number): string => `${amount.toFixed(2)} USD`

const startText = ({ sessions, first_use, minutes }: Start): string =>
  `${countText(sessions, 'session')} from ${momentText(first_use)}; it takes up to ${minutes} min to be ready`

const limitText = ({ template, license, nodes, nodes_possible }: LicenseLimit): string =>
  license === null
    ? ''
    : `; ${license} allows ${nodes} of its ${nodes_possible} nodes, so a smaller template than ${template} may cost less`

/** Why the plan wakes, buys, stops or terminates a machine, or has none for a session. */
export const PLAN_REASONS = {
  plan_stop: ({ next_use, staying_usd, sleeping_usd }: Pause) =>
    `next use ${momentText(next_use)}; sleeping costs ${usd(sleeping_usd)}, staying ${usd(staying_usd)}`,
  plan_stop_unused: ({ until }: { until: string }) => `nothing is planned on it until ${momentText(until)}`,
  plan_stay: ({ next_use, staying_usd, sleeping_usd }: Pause) =>
    `next use ${momentText(next_use)}; staying costs ${usd(staying_usd)}, sleeping ${usd(sleeping_usd)}`,
  plan_stay_short: ({ next_use, minutes }: { next_use: string; minutes: number }) =>
    `next use ${momentText(next_use)}; a stop and a start take up to ${minutes} min`,
  plan_wake: (start: Start) => startText(start),
  /** `license` is the product that allows fewer nodes than the machine could run; null if that is no limit. */
  plan_buy: (start: Start & LicenseLimit) => `no other machine has capacity for ${startText(start)}${limitText(start)}`,
  plan_terminate: ({ until, disk_usd, new_usd }: { until: string; disk_usd: number; new_usd: number }) =>
    `nothing is planned on it until ${momentText(until)}; its disk costs ${usd(disk_usd)} until then, ` +
    `a new worker ${usd(new_usd)} more than a start`,
  plan_no_capacity: () => 'no machine has capacity for it, and none can be ready before its timeslot ends',
  plan_no_license_free: ({ license }: { license: string }) =>
    `it needs another machine, and no ${license} license is free`,
  plan_budget_reached: () => 'it needs another machine, and the budget does not allow one',
}
