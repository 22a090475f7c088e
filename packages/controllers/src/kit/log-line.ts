const LEVELS: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info', 40: 'warning', 50: 'error' }

interface Logged {
  readonly level?: number
  readonly time?: number
  readonly service?: string
  readonly key?: string
  readonly msg?: string
  readonly message?: string
  readonly err?: { readonly message?: string }
}

/** A line of the log for whoever reads it in a terminal: when, how bad, who, about what and why. The JSON has more. */
export function formatLogLine(json: string): string {
  const { level = 0, time = 0, service, key, msg, message, err }: Logged = JSON.parse(json)
  const at = new Date(time).toISOString().slice(11, 19)
  const who = [service, key].filter(Boolean).join(' ')
  const why = [msg, message ?? err?.message].filter(Boolean).join(': ')
  return [at, LEVELS[level] ?? 'log', who === '' ? why : `${who}: ${why}`].join('  ')
}
