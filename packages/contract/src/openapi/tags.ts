import type { RouteSpec } from '../routes.ts'

/** One tag per first path segment, in the order of the documentation. */
const TAGS: Readonly<Record<string, string>> = {
  workers: 'CML servers on EC2: requested state, observed state and history.',
  'worker-templates': 'Templates that workers are created from.',
  'lablet-definitions': 'Labs that can be booked, in versions.',
  'lablet-sessions': 'Booked labs: placed, started, reachable, torn down.',
  saves: 'Saved work of sessions.',
  timings: 'How long machines, labs and teardowns took lately.',
  quotas: 'How much each person may book, and how much of it is used.',
  'lab-records': 'Labs on workers, created by LCM or found there.',
  capacity: 'What a change of limits, templates or workers would take from booked sessions.',
  calendar: 'The booked time of all sessions, and everything that a forecast is computed from.',
  plan: 'Which machine will serve which session, and what it costs.',
  fleet: 'All workers together: counts, cost and planned actions.',
  events: 'A stream of all changes.',
  decisions: 'Decisions of controllers and their reasons.',
  services: 'The services of LCM: replicas, leaders and terms.',
  settings: 'Settings that can be changed at run time.',
  'license-pools': 'Licenses that workers take and return by themselves.',
  'license-leaks': 'Licenses that were not returned before their machine was lost.',
  'notification-targets': 'Where LCM sends notifications: webhooks, Slack, email.',
  notifications: 'Messages to those targets and the state of their delivery.',
  audit: 'The log of changes that callers made.',
  people: 'People: the owners of sessions, tokens and sign-ins.',
  tokens: 'API tokens.',
  'login-links': 'One-time links that sign a browser in.',
  'secret-key': 'The key that seals secrets.',
  backup: 'Backups of the store.',
  info: 'The version of LCM and the caller.',
}

/** The first segment of a path is its tag. */
export const tagOf = ({ path }: Pick<RouteSpec, 'path'>): string => path.split('/')[1] ?? ''

export const tagDescription = (tag: string): string => TAGS[tag] ?? ''

/** The tags of these routes; tags without a description come last. */
export function tagsOf(routes: readonly RouteSpec[]): string[] {
  const order = Object.keys(TAGS)
  const rank = (tag: string) => (order.includes(tag) ? order.indexOf(tag) : order.length)
  return [...new Set(routes.map(tagOf))].sort((a, b) => rank(a) - rank(b))
}
