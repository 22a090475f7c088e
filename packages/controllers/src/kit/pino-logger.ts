import { HIDDEN_CHARACTERS } from '@lcm/domain/text/hidden-characters'
import type { Logger } from '@lcm/runtime'
import pino from 'pino'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** JSON, one line each. Written at once, so that a crash loses none. */
export function pinoLogger(options: {
  level: LogLevel
  to: 'stdout' | 'stderr' | FileDescriptor | { write(line: string): void }
}): Logger {
  const { level, to } = options
  const destination = typeof to === 'object' ? to : steadfast(typeof to === 'number' ? to : FILE_DESCRIPTORS[to])
  return pino({ level, base: null, redact: { paths: SECRET_FIELDS, censor: '[hidden]' } }, destination)
}

type FileDescriptor = number
const FILE_DESCRIPTORS = { stdout: 1, stderr: 2 } as const

/** A line that does not fit on the disk is dropped and the file reopened: a full disk must not stop a controller. */
function steadfast(dest: FileDescriptor): { write(line: string): void } {
  const open = () => pino.destination({ dest, sync: true }).on('error', reopen)
  const reopen = () => {
    stream = open()
  }
  let stream = open()
  return { write: line => void stream.write(line) }
}

/** A safety net: no code should log these. */
const SECRET_FIELDS = ['token', 'password', 'authorization', 'cookie'].flatMap(name => [name, `*.${name}`])

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

/** Formats a JSON log line for a terminal: time, level, service, key and message. */
export function formatLogLine(json: string): string {
  const { level = 0, time = 0, service, key, msg, message, err }: Logged = JSON.parse(json)
  const at = new Date(time).toISOString().slice(11, 19)
  const who = [service, key].filter(Boolean).join(' ')
  const why = [msg, message ?? err?.message].filter(Boolean).join(': ')
  const line = [at, LEVELS[level] ?? 'log', who === '' ? why : `${who}: ${why}`].join('  ')
  return line.replaceAll(HIDDEN_CHARACTERS, ' ')
}
