/** `failure` needs a fix now, `warning` may need one soon. */
export type Severity = 'ok' | 'warning' | 'failure'

/** Result of one check. */
export interface Finding {
  readonly check: string
  readonly severity: Severity
  readonly sentence: string
  /** Advice; null if nothing needs to be done. */
  readonly next_step: string | null
}

export const ok = (check: string, sentence: string): Finding => ({ check, severity: 'ok', sentence, next_step: null })

export const warning = (check: string, sentence: string, next_step: string): Finding => ({
  check,
  severity: 'warning',
  sentence,
  next_step,
})

export const failure = (check: string, sentence: string, next_step: string): Finding => ({
  check,
  severity: 'failure',
  sentence,
  next_step,
})

/** For sentences of others that hold both: what is wrong, then a colon or semicolon, then what to do. */
export function failureIn(check: string, message: string, otherwise: string): Finding {
  const at = Math.max(message.lastIndexOf('; '), message.lastIndexOf(': '))
  if (at < 0) return failure(check, message, otherwise)
  return failure(check, message.slice(0, at), message.slice(at + 2))
}

export const FINDINGS_MAX = 10

/** Keeps the first FINDINGS_MAX findings; the rest is only counted. */
export function firstOf(findings: readonly Finding[], rest: string): readonly Finding[] {
  if (findings.length <= FINDINGS_MAX) return findings
  const [first] = findings
  const left = findings.slice(FINDINGS_MAX)
  const asGrave = left.some(({ severity }) => severity === 'failure') ? failure : warning
  return [...findings.slice(0, FINDINGS_MAX), asGrave(first?.check ?? '', `and ${left.length} more`, rest)]
}
