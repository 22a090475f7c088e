import type { Shell } from '../command-dependencies.ts'
import type { Sink } from '../terminal/output.ts'
import { type CliApi, cliApi } from './in-memory-api.ts'

export type CapturedShell = ReturnType<typeof capturedShell>

export interface CapturedOptions {
  readonly api?: CliApi
  readonly env?: Shell['env']
  readonly isTty?: boolean
  readonly rows?: number
  readonly columns?: number
  /** What standard input holds. */
  readonly input?: string
  /** Keys that the user types. Without them there is no keyboard. */
  readonly typed?: string
  readonly host?: Awaited<ReturnType<Shell['loadHost']>>
  readonly examination?: Awaited<ReturnType<Shell['loadExamination']>>
  readonly disk?: (path: string) => Awaited<ReturnType<Shell['probeDisk']>>
}

/** A shell in memory, in front of the real API. */
export function capturedShell(options: CapturedOptions = {}) {
  const { api = cliApi(), isTty = false, rows = 24, columns = 120, typed, input, host, examination } = options
  const { clock } = api
  let keys = 0
  const interrupt = new AbortController()
  const unread = new AbortController()
  const stdout: string[] = []
  const stderr: string[] = []
  const size = { rows, columns }
  const sink = (into: string[]): Sink => ({
    write: text => into.push(text),
    unread: unread.signal,
    isTty,
    get rows() {
      return size.rows
    },
    get columns() {
      return size.columns
    },
  })
  const listeners = new Set<(text: string) => void>()
  const shell: Shell = {
    env: options.env ?? { LCM_URL: 'http://127.0.0.1:8080', LCM_TOKEN: 'secret' },
    clock,
    newKey: () => {
      keys += 1
      return `key-${keys}`
    },
    signal: interrupt.signal,
    stdout: sink(stdout),
    stderr: sink(stderr),
    readLine: typed === undefined ? null : async () => typed,
    keys: isTty
      ? pressed => {
          listeners.add(pressed)
          return () => listeners.delete(pressed)
        }
      : null,
    readInput: isTty ? null : async () => input ?? '',
    transport: async () => api.dispatch,
    loadExamination: async () => examination ?? Promise.reject(new Error('this test examines nothing')),
    probeDisk: async path => options.disk?.(path) ?? null,
    loadHost: async () => host ?? Promise.reject(new Error('this test has no host')),
  }
  return {
    shell,
    api,
    clock,
    interrupt: () => interrupt.abort(),
    /** Closes the reader of the output. */
    leaveUnread: () => unread.abort(),
    press(text: string) {
      for (const pressed of listeners) pressed(text)
    },
    /** Whether the program reads keys. */
    isListening: () => listeners.size > 0,
    resize: (changed: Partial<typeof size>) => Object.assign(size, changed),
    out: () => stdout.join(''),
    err: () => stderr.join(''),
    outLines: () => stdout.join('').split('\n').slice(0, -1),
    errLines: () => stderr.join('').split('\n').slice(0, -1),
  }
}
