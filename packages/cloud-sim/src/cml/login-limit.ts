const WINDOW_MS = 60_000

/** Limits logins per minute of real time. A restart resets it, like the web server's own limit. */
export interface LoginLimit {
  admits(instanceId: string, nowMs: number, perMinute: number): boolean
}

export function loginLimit(): LoginLimit {
  const left = new Map<string, { readonly tokens: number; readonly atMs: number }>()
  return {
    admits(instanceId, nowMs, perMinute) {
      if (perMinute === 0) return true
      const before = left.get(instanceId) ?? { tokens: perMinute, atMs: nowMs }
      const refilled = before.tokens + (Math.max(0, nowMs - before.atMs) * perMinute) / WINDOW_MS
      const tokens = Math.min(perMinute, refilled)
      const isAdmitted = tokens >= 1
      left.set(instanceId, { tokens: isAdmitted ? tokens - 1 : tokens, atMs: nowMs })
      return isAdmitted
    },
  }
}
