import type { Role } from '@lcm/domain/actor'

/** Strongest first. Controllers have tokens of their own, so no provider makes anybody one. */
const PEOPLE: readonly Role[] = ['admin', 'operator', 'author', 'user']

/** The strongest role in a claim, which holds one name or a list of them. Null when it holds none that LCM knows. */
export function roleIn(claims: object, path: string): Role | null {
  const value = claimAt(claims, path)
  const names: readonly unknown[] = Array.isArray(value) ? value : [value]
  return PEOPLE.find(role => names.includes(role)) ?? null
}

/** A claim's own name may have dots in it, such as an address; otherwise they lead inside. */
function claimAt(claims: object, path: string): unknown {
  if (Object.hasOwn(claims, path)) return memberOf(claims, path)
  return path.split('.').reduce<unknown>(memberOf, claims)
}

const memberOf = (holder: unknown, name: string): unknown =>
  typeof holder === 'object' && holder !== null && Object.hasOwn(holder, name)
    ? new Map<string, unknown>(Object.entries(holder)).get(name)
    : undefined
