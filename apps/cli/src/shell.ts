import type { Dispatch } from '@lcm/contract/wire'
import type { Clock } from '@lcm/runtime/clock'
import type { Sink } from './output.ts'

/** The host, for commands that are more than a question to an API. The types are its own, so that the two can not drift apart. */
export interface Host {
  readonly up: typeof import('@lcm/host/up').up
  readonly serve: typeof import('@lcm/host/serve').serve
  readonly serveSim: typeof import('@lcm/host/serve-sim').serveSim
  readonly checkBackup: typeof import('@lcm/host/backup').checkBackup
  readonly restore: typeof import('@lcm/host/restore').restore
  /** The exit code of a start that was refused for a known reason; null for any other error. */
  startupExitCode(error: unknown): number | null
}

/** Everything that a command may reach outside itself. main.ts makes the real one, tests a captured one. */
export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Aborts when the person presses Ctrl-C or the process is asked to end. */
  readonly signal: AbortSignal
  readonly stdout: Sink
  readonly stderr: Sink
  /** The next line that a person types, null when they leave. Absent when nobody is at the keyboard. */
  readonly readLine: (() => Promise<string | null>) | null
  /** How an API at this address is reached. */
  transport(baseUrl: string): Promise<Dispatch>
  loadHost(): Promise<Host>
}
