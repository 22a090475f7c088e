import type { Writable } from 'node:stream'
import picocolors from 'picocolors'

export type Colors = ReturnType<typeof picocolors.createColors>

/** A text stream: standard output, standard error, or memory in tests. */
export interface Sink {
  write(text: string): void
  readonly isTty: boolean
  /** Height in lines; 0 if unknown. */
  readonly rows: number
  /** Width in characters; 0 if unknown. */
  readonly columns: number
  /** Aborts when the reader has closed the pipe, as in `lcm get workers | head -1`. */
  readonly unread: AbortSignal
}

export interface OutputOptions {
  readonly stdout: Sink
  readonly stderr: Sink
  readonly color: boolean
  readonly quiet: boolean
}

/** Prints results, notes and errors. All commands print through it. */
export interface Output {
  readonly stdout: Sink
  readonly stderr: Sink
  readonly quiet: boolean
  /** Colors for standard output. */
  readonly colors: Colors
  /** Prints a result to standard output. */
  out(line: string): void
  /** Prints a note to standard error, unless `--quiet` is set. */
  note(line: string): void
  /** Prints a warning to standard error, even with `--quiet`. */
  warn(line: string): void
  /** Prints a prompt without a line break. */
  ask(question: string): void
  /** Prints an error: one sentence, then details. */
  fail(sentence: string, details: readonly string[]): void
}

/** Everything that a terminal obeys, but for line breaks, tabs and our own colors. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: ESC begins our own colors.
const UNPRINTABLE = /(?!\u001b\[[\d;]*m|[\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** The last guard: names of others get into many sentences, and one of them may lack `printable`. */
export const safe = (text: string): string => text.replaceAll(UNPRINTABLE, ' ')

export function makeOutput({ stdout, stderr, color, quiet }: OutputOptions): Output {
  const paintErrors = picocolors.createColors(color && stderr.isTty)
  const message = (text: string) => stderr.write(safe(text))
  return {
    stdout,
    stderr,
    quiet,
    colors: picocolors.createColors(color && stdout.isTty),
    out: line => stdout.write(safe(`${line}\n`)),
    note: line => {
      if (!quiet) message(`${line}\n`)
    },
    warn: line => message(`${line}\n`),
    ask: question => message(question),
    fail(sentence, details) {
      message(`${paintErrors.red('error:')} ${sentence}\n${details.map(detail => `  ${detail}\n`).join('')}`)
    },
  }
}

type ProcessStream = Writable & Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'rows' | 'columns'>>

/** Wraps a stream of this process. A closed pipe or a full disk must not interrupt a command in progress. */
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

/** The code of a write error other than a closed pipe, such as ENOSPC; null if there was none. */
export function unwritten({ unread: { reason } }: Sink): string | null {
  return reason instanceof Error && 'code' in reason && typeof reason.code === 'string' ? reason.code : null
}

/** A signal for endless commands: also aborts when the reader has closed the pipe. */
export const whileRead = (signal: AbortSignal, { unread }: Sink): AbortSignal => AbortSignal.any([signal, unread])

export const NO_WRAP = '\u001b[?7l'
export const WRAP = '\u001b[?7h'
const CLEAR_BELOW = '\u001b[0J'

export interface LiveArea {
  /** Replaces the content. The terminal cuts long lines instead of wrapping them. */
  draw(lines: readonly string[]): void
  /** Removes the content. */
  clear(): void
}

/** Lines of a terminal that can be redrawn in place. */
export function liveArea(sink: Sink): LiveArea {
  let height = 0
  const rewind = () => `${height > 0 ? `\u001b[${height}A` : ''}\r${CLEAR_BELOW}`
  return {
    draw(lines) {
      sink.write(`${rewind()}${NO_WRAP}${lines.map(line => `${safe(line)}\n`).join('')}${WRAP}`)
      height = lines.length
    },
    clear() {
      if (height > 0) sink.write(rewind())
      height = 0
    },
  }
}
