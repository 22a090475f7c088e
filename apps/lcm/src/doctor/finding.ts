import type { Reason } from '@lcm/domain/reason'

/** `failure` needs a fix now, `warning` may need one soon. */
export type Severity = 'ok' | 'warning' | 'failure'

/** Result of one check. */
export interface Finding {
  readonly check: string
  readonly severity: Severity
  /** What was found, and why. */
  readonly message: string
  /** What to do; null if nothing needs to be done. */
  readonly advice: string | null
  /** The problem that a service reported, if one did. */
  readonly reason?: Reason
}

export const ok = (check: string, message: string): Finding => ({ check, severity: 'ok', message, advice: null })

export const warning = (check: string, message: string, advice: string): Finding => ({
  check,
  severity: 'warning',
  message,
  advice,
})

export const failure = (check: string, message: string, advice: string): Finding => ({
  check,
  severity: 'failure',
  message,
  advice,
})

export const FINDINGS_MAX = 10

/** Keeps the first FINDINGS_MAX findings; the rest is only counted. */
export function firstOf(findings: readonly Finding[], rest: string): readonly Finding[] {
  if (findings.length <= FINDINGS_MAX) return findings
  const [first] = findings
  const left = findings.slice(FINDINGS_MAX)
  const asGrave = left.some(({ severity }) => severity === 'failure') ? failure : warning
  return [...findings.slice(0, FINDINGS_MAX), asGrave(first?.check ?? '', `and ${left.length} more`, rest)]
}
