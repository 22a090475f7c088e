import type { Dispatch } from '@lcm/contract/wire'
import type { Clock } from '@lcm/runtime/clock'
import type { DiskFacts } from '../doctor/machine.ts'
import type { Sink } from './terminal/output.ts'

/** The host, for commands that are more than a question to an API. The types are its own, so that the two can not drift apart. */
export interface Host {
  readonly up: typeof import('../serve/up.ts').up
  readonly serve: typeof import('../serve/one-service.ts').serve
  readonly serveSim: typeof import('../serve/sim.ts').serveSim
  readonly checkBackup: typeof import('../serve/data/backup.ts').checkBackup
  readonly restore: typeof import('../serve/data/restore.ts').restore
  /** The exit code of a start that was refused for a known reason; null for any other error. */
  startupExitCode(error: unknown): number | null
}

/** The host's way of looking at what it would use, for `lcm doctor`. */
export type Examination = typeof import('../serve/examination.ts')

/** Tells every key that is pressed, or all that is pasted at once, until the returned function is called. */
export type Keys = (pressed: (text: string) => void) => () => void

/** Everything that a command may reach outside itself. main.ts makes the real one, tests a captured one. */
export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Aborts when the person presses Ctrl-C or the process is asked to end. */
  readonly signal: AbortSignal
  /** Aborts when the process is asked to end for the second time. */
  readonly hurry?: AbortSignal
  readonly stdout: Sink
  readonly stderr: Sink
  /** The next line that a person types, null when they leave. Absent when nobody is at the keyboard. */
  readonly readLine: (() => Promise<string | null>) | null
  /** The keys one by one, with nothing shown on the terminal. Absent when nobody is at the keyboard. */
  readonly keys: Keys | null
  /** All of standard input. Absent when that is a keyboard. */
  readonly readInput: (() => Promise<string>) | null
  /** Like no other, ever. */
  newKey(): string
  /** How an API at this address is reached. */
  transport(baseUrl: string): Promise<Dispatch>
  loadHost(): Promise<Host>
  loadExamination(): Promise<Examination>
  /** How much room the disk of this path has; null where nobody can tell. */
  probeDisk(path: string): Promise<DiskFacts | null>
}
