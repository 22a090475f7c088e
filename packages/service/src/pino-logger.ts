import type { Logger } from '@lcm/runtime'
import pino from 'pino'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** JSON, one line each. Written at once, so that a crash loses none. */
export function pinoLogger(options: {
  level: LogLevel
  to: 'stdout' | 'stderr' | { write(line: string): void }
}): Logger {
  const { level, to } = options
  const destination = typeof to === 'object' ? to : pino.destination({ dest: to === 'stdout' ? 1 : 2, sync: true })
  return pino({ level, base: null, redact: { paths: SECRET_FIELDS, censor: '[hidden]' } }, destination)
}

/** Nothing should log these in the first place; this is the net below. */
const SECRET_FIELDS = ['token', 'password', 'authorization', 'cookie'].flatMap(name => [name, `*.${name}`])
