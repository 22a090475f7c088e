const SESSION_ID = /\bls-[0-9a-hjkmnp-tv-z]{13}\b/g
const ANOTHER = 'ls-…'

/** Replaces ids of other owners' sessions in any text. */
export function redactSessionIds<T extends object>(
  value: T,
  own: { readonly sessions: ReadonlySet<string> } | null,
): T {
  if (own === null) return value
  const text = JSON.stringify(value)
  const redacted = text.replace(SESSION_ID, id => (own.sessions.has(id) ? id : ANOTHER))
  return redacted === text ? value : JSON.parse(redacted)
}
