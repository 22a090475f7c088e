import type { Writable } from 'node:stream'
import picocolors from 'picocolors'

export type Colors = ReturnType<typeof picocolors.createColors>

/** Where text goes: standard output, standard error, or a test's memory. */
export interface Sink {
  write(text: string): void
  readonly isTty: boolean
  /** How high it is; 0 where that is not known. */
  readonly rows: number
  /** How wide it is; 0 where that is not known. */
  readonly columns: number
  /** Aborts when the reader is gone (`lcm get workers | head -1`): what is written then goes nowhere. */
  readonly unread: AbortSignal
}

export interface OutputOptions {
  readonly stdout: Sink
  readonly stderr: Sink
  readonly color: boolean
  readonly quiet: boolean
}

/** The only way to a person's eyes. */
export interface Output {
  readonly stdout: Sink
  readonly stderr: Sink
  readonly quiet: boolean
  /** For standard output. */
  readonly colors: Colors
  /** What was asked for. */
  out(line: string): void
  /** What is good to know meanwhile, on standard error. `--quiet` drops it. */
  note(line: string): void
  /** What must not be overlooked, on standard error even with `--quiet`. */
  warn(line: string): void
  /** Asks without ending the line, so that the answer stands behind the question. */
  ask(question: string): void
  /** Why it went wrong: one sentence, then details. */
  fail(sentence: string, details: readonly string[]): void
}

export function makeOutput({ stdout, stderr, color, quiet }: OutputOptions): Output {
  const paintErrors = picocolors.createColors(color && stderr.isTty)
  return {
    stdout,
    stderr,
    quiet,
    colors: picocolors.createColors(color && stdout.isTty),
    out: line => stdout.write(`${line}\n`),
    note: line => {
      if (!quiet) stderr.write(`${line}\n`)
    },
    warn: line => stderr.write(`${line}\n`),
    ask: question => stderr.write(question),
    fail(sentence, details) {
      stderr.write(`${paintErrors.red('error:')} ${sentence}\n${details.map(detail => `  ${detail}\n`).join('')}`)
    },
  }
}

type ProcessStream = Writable & Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'rows' | 'columns'>>

/**
 * A stream of this process. A reader that went away is no error, and neither that nor a full disk is a reason to leave what was
 * begun half done.
 */
export function processSink(stream: ProcessStream): Sink {
  const unread = new AbortController()
  stream.on('error', (error: NodeJS.ErrnoException) => unread.abort(error.code === 'EPIPE' ? undefined : error))
  return {
    unread: unread.signal,
    write: text => {
      if (!unread.signal.aborted) stream.write(text)
    },
    isTty: stream.isTTY === true,
    get rows() {
      return stream.rows ?? 0
    },
    get columns() {
      return stream.columns ?? 0
    },
  }
}

/** Why what was written did not get to whoever still wants to read it, such as ENOSPC; null where it did. */
export function unwritten({ unread: { reason } }: Sink): string | null {
  return reason instanceof Error && 'code' in reason && typeof reason.code === 'string' ? reason.code : null
}

/** For what has no end of its own: it lasts as long as somebody reads it. */
export const whileRead = (signal: AbortSignal, { unread }: Sink): AbortSignal => AbortSignal.any([signal, unread])

export const NO_WRAP = '\u001b[?7l'
export const WRAP = '\u001b[?7h'
const CLEAR_BELOW = '\u001b[0J'

export interface LiveArea {
  /** Replaces what the area showed. Lines that are too long are cut by the terminal, not wrapped. */
  draw(lines: readonly string[]): void
  /** Takes the last lines away. */
  clear(): void
}

/** Some lines of a terminal that are written over and over. */
export function liveArea(sink: Sink): LiveArea {
  let height = 0
  const rewind = () => `${height > 0 ? `\u001b[${height}A` : ''}\r${CLEAR_BELOW}`
  return {
    draw(lines) {
      sink.write(`${rewind()}${NO_WRAP}${lines.map(line => `${line}\n`).join('')}${WRAP}`)
      height = lines.length
    },
    clear() {
      if (height > 0) sink.write(rewind())
      height = 0
    },
  }
}
