import type { RouteSpec } from '../routes.ts'

/** What each area of the API is about, in the order in which a newcomer meets them. */
const AREAS: Readonly<Record<string, string>> = {
  workers: 'CML servers: what is wanted of each, what it is, and how it got there.',
  'worker-templates': 'What workers are made from.',
  'lablet-definitions': 'Labs that can be booked, in versions.',
  'lablet-sessions': 'Somebody’s lab for a while: booked, placed, started, reached, taken down.',
  'lab-records': 'Labs on workers, ours and anybody’s.',
  fleet: 'All workers at once: counts, cost, and what controllers would do next.',
  events: 'Every change as it happens.',
  decisions: 'Why controllers did what they did.',
  services: 'The controllers behind LCM: who leads, in which term, and how they are.',
  settings: 'What can be changed while LCM runs.',
  'license-leaks': 'Licences that went down with their machines, until somebody has dealt with them.',
  audit: 'Who changed what, and when.',
  tokens: 'Keys to this API.',
  'login-links': 'Ways for a browser to log in.',
  backup: 'A copy of everything.',
  info: 'Which LCM this is, and who you are to it.',
}

/** The first part of a route's path names its area. */
export const areaOf = ({ path }: Pick<RouteSpec, 'path'>): string => path.split('/')[1] ?? ''

export const areaSentence = (area: string): string => AREAS[area] ?? ''

/** The areas of these routes; those without a sentence come last. */
export function areasOf(routes: readonly RouteSpec[]): string[] {
  const order = Object.keys(AREAS)
  const rank = (area: string) => (order.includes(area) ? order.indexOf(area) : order.length)
  return [...new Set(routes.map(areaOf))].sort((a, b) => rank(a) - rank(b))
}
