import type { Logger } from '@lcm/runtime'

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface RecordingLogger extends Logger {
  /** Lines of this logger and its children, oldest first. */
  readonly lines: readonly LogLine[]
  messages(level: LogLine['level']): readonly string[]
}

export function recordingLogger(): RecordingLogger {
  const lines: LogLine[] = []
  const bound = (fixed: object): Logger => {
    const say = (level: LogLine['level']) => (fields: object, message: string) => {
      lines.push({ level, message, fields: { ...fixed, ...fields } })
    }
    const child = (fields: object) => bound({ ...fixed, ...fields })
    return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error'), child }
  }
  const messages = (level: LogLine['level']) => lines.filter(line => line.level === level).map(line => line.message)
  return { ...bound({}), lines, messages }
}
