import { NO_WRAP, type Sink, safe, WRAP } from './output.ts'

const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const CLEAR_LINE = '\u001b[2K'
const CLEAR_BELOW = '\u001b[J'

export interface Screen {
  /** Draws lines from the top of the terminal; lines that do not fit are left out. */
  draw(lines: readonly string[]): void
  /** Restores the terminal. */
  close(): void
}

/** Opens the alternate screen of a terminal. */
export function openScreen(sink: Sink): Screen {
  sink.write(`${ENTER}${NO_WRAP}`)
  let shown = ''
  return {
    draw(lines) {
      const fitting = sink.rows > 0 ? lines.slice(0, sink.rows) : lines
      // Each line is cleared before it is written: after a full line, the cursor is still on its last character.
      const text = fitting.map(line => `${CLEAR_LINE}${safe(line)}`).join('\r\n')
      const below = fitting.length < sink.rows ? `\r\n${CLEAR_BELOW}` : ''
      // A resized terminal may have moved the content, so the size is part of the comparison.
      const frame = `${sink.rows}x${sink.columns} ${text}`
      if (frame !== shown) sink.write(`${HOME}${text}${below}`)
      shown = frame
    },
    close: () => sink.write(`${WRAP}${LEAVE}`),
  }
}
