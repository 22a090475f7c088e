import { VARIABLES } from './environment.ts'
import type { Env } from './read-environment.ts'

/** Variables of the command line. */
const OTHERS = ['LCM_URL', 'LCM_TOKEN', 'LCM_TOKEN_FILE', 'LCM_CA_FILE', 'LCM_DATA']
const KNOWN = new Set([...Object.values(VARIABLES).flat(), ...OTHERS])
/** Maximum edit distance of a suggestion. */
const DISTANCE_MAX = 3

/** One warning per unknown variable that starts with LCM_. */
export function unknownVariables(env: Env): readonly string[] {
  const strange = Object.keys(env).filter(name => name.startsWith('LCM_') && !KNOWN.has(name))
  return strange.toSorted().map(name => {
    const suggestion = nearest(name)
    const advice = suggestion === null ? 'See docs/reference/config.md' : `Did you mean ${suggestion}?`
    return `${name} is set, but unknown. ${advice}`
  })
}

/** A warning about settings in the environment of a controller, because only the API reads them. */
export function unreadSettings(service: string, env: Env): readonly string[] {
  const names = VARIABLES.settings.filter(name => (env[name] ?? '') !== '').toSorted()
  if (names.length === 0) return []
  return [
    `${service} does not read ${names.join(', ')}: control-plane-api does. ` +
      'Set them there, or change them at run time in the console under Settings or with PATCH /api/v1/settings',
  ]
}

function nearest(name: string): string | null {
  const candidates = [...KNOWN].map(known => ({ known, distance: editDistance(name, known) }))
  const [best] = candidates.toSorted((a, b) => a.distance - b.distance)
  return best !== undefined && best.distance <= DISTANCE_MAX ? best.known : null
}

/** The Levenshtein distance of two names. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1]
    for (const [at, other] of [...to].entries()) {
      const replaced = (row[at] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
