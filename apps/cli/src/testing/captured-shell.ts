import { manualClock } from '@lcm/testkit/manual-clock'
import type { Sink } from '../output.ts'
import type { Shell } from '../shell.ts'
import { type FakeApi, fakeApi } from './fake-api.ts'
import { START_MS } from './samples.ts'

export type CapturedShell = ReturnType<typeof capturedShell>

export interface CapturedOptions {
  readonly api?: FakeApi
  readonly env?: Shell['env']
  readonly isTty?: boolean
  readonly rows?: number
  /** What the person types; without it nobody is at the keyboard. */
  readonly typed?: string
  readonly host?: Awaited<ReturnType<Shell['loadHost']>>
}

/** A shell in memory, in front of a fake API. */
export function capturedShell(options: CapturedOptions = {}) {
  const { api = fakeApi(), isTty = false, rows = 24, typed, host } = options
  const clock = manualClock(START_MS)
  const interrupt = new AbortController()
  const stdout: string[] = []
  const stderr: string[] = []
  const sink = (into: string[]): Sink => ({ write: text => into.push(text), isTty, rows })
  const shell: Shell = {
    env: options.env ?? { LCM_URL: 'http://127.0.0.1:8080', LCM_TOKEN: 'secret' },
    clock,
    signal: interrupt.signal,
    stdout: sink(stdout),
    stderr: sink(stderr),
    readLine: typed === undefined ? null : async () => typed,
    transport: async () => api.dispatch,
    loadHost: async () => host ?? Promise.reject(new Error('this test has no host')),
  }
  return {
    shell,
    api,
    clock,
    interrupt: () => interrupt.abort(),
    out: () => stdout.join(''),
    err: () => stderr.join(''),
    outLines: () => stdout.join('').split('\n').slice(0, -1),
    errLines: () => stderr.join('').split('\n').slice(0, -1),
  }
}
