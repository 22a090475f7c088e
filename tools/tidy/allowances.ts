import type { Rule, Violation } from './tree.ts'

/** Violations left to repair, counted by rule and area. A count may only fall; at 0 its line goes. */
const ALLOWED: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'no file imports itself through others': {
    'packages/controllers': 2,
  },
}

const AREA = /^(?:(?:packages|apps)\/[^/]+|[^/]+(?=\/)|.*)/

const areaOf = ({ path }: Violation): string => AREA.exec(path)?.[0] ?? path

/** What a rule finds in areas that have more of it than they are allowed. */
export function notAllowed(rule: Pick<Rule, 'name'>, violations: readonly Violation[]): Violation[] {
  const allowed = ALLOWED[rule.name] ?? {}
  const count = (area: string) => violations.filter(violation => areaOf(violation) === area).length
  const exceeded = new Set([...new Set(violations.map(areaOf))].filter(area => count(area) > (allowed[area] ?? 0)))
  return violations.filter(violation => exceeded.has(areaOf(violation)))
}
