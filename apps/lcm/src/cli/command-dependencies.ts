import type { Dispatch } from '@lcm/contract/route-spec'
import type { Clock } from '@lcm/runtime/clock'
import type { DiskFacts } from '../doctor/judge-computer.ts'
import type { Sink } from './terminal/output.ts'

/** The functions of serve/ for commands that run a server or read a backup. Typed by `typeof import`, so that both stay in step. */
export interface Host {
  readonly up: typeof import('../serve/up.ts').up
  readonly serve: typeof import('../serve/one-service.ts').serve
  readonly serveSim: typeof import('../serve/serve-sim.ts').serveSim
  readonly checkBackup: typeof import('../serve/data/backup-file.ts').checkBackup
  readonly encryptBackup: (
    ...args: Parameters<typeof import('../serve/data/encrypted-backup.ts').encryptBackup>
  ) => AsyncIterable<Uint8Array>
  readonly restore: typeof import('../serve/data/restore-data-folder.ts').restore
  /** A `StartupError`; null for any other error. */
  startupError(error: unknown): StartupFailure | null
}

type StartupFailure = Pick<import('../serve/startup-error.ts').StartupError, 'exitCode' | 'message' | 'advice'>

/** Probes of the environment, store, etcd and AWS, for `lcm doctor`. */
export type Examination = typeof import('../serve/doctor-probes.ts')

/** Calls `pressed` for every key or pasted text until the returned function is called. */
export type Keys = (pressed: (text: string) => void) => () => void

/** Everything that a command uses outside itself. main.ts provides the real one, tests a captured one. */
export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** Aborts on Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal
  /** Aborts on a second SIGTERM. */
  readonly hurry?: AbortSignal
  readonly stdout: Sink
  readonly stderr: Sink
  /** Reads one line, null at the end of input. Null itself when standard input is not a terminal. */
  readonly readLine: (() => Promise<string | null>) | null
  /** Reads keys without echo. Null when standard input is not a terminal. */
  readonly keys: Keys | null
  /** Reads all of standard input. Null when it is a terminal. */
  readonly readInput: (() => Promise<string>) | null
  /** Creates a unique idempotency key. */
  newKey(): string
  /** Opens an HTTP transport to the API at this address. */
  transport(baseUrl: string): Promise<Dispatch>
  loadHost(): Promise<Host>
  loadExamination(): Promise<Examination>
  /** Free space on the disk of this path; null if unknown. */
  probeDisk(path: string): Promise<DiskFacts | null>
}
